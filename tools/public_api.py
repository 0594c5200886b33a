"""Keep the public API in a file, so that a change to it is seen in review.

python tools/public_api.py          write docs/public-api.txt
python tools/public_api.py --check  fail if the file is not what the code gives
"""

import importlib
import inspect
import pkgutil
import re
import sys
from pathlib import Path

import fencepost

SNAPSHOT = Path(__file__).resolve().parent.parent / "docs" / "public-api.txt"
# Theirs is the engine contract, or that of one engine and its fence: no user calls them.
PRIVATE = ("fencepost.engines.", "fencepost.drivers.")


def modules() -> list[str]:
    """Every module that says in `__all__` what it offers, and is not private by its name."""
    found = ["fencepost"]
    for each in pkgutil.walk_packages(fencepost.__path__, "fencepost."):
        private = any(part.startswith("_") for part in each.name.split(".")) or each.name.startswith(PRIVATE)
        if not private and each.ispkg and hasattr(importlib.import_module(each.name), "__all__"):
            found.append(each.name)
    return found


def describe(module_name: str) -> list[str]:
    module = importlib.import_module(module_name)
    lines = []
    for name in sorted(module.__all__):
        value = getattr(module, name)
        where = f"{module_name}.{name}"
        if inspect.isclass(value):
            bases = ", ".join(base.__name__ for base in value.__bases__)
            lines.append(f"class {where}({bases})")
            lines.extend(f"    {line}" for line in members(value))
        elif callable(value):
            lines.append(f"def {where}{inspect.signature(value)}")
        else:
            lines.append(f"{where}: {type(value).__name__}")
    return lines


def members(kind: type) -> list[str]:
    lines = []
    for name in sorted(dir(kind)):
        if name.startswith("_") and name not in ("__init__", "__enter__", "__exit__", "__aenter__", "__aexit__"):
            continue
        value = inspect.getattr_static(kind, name)
        owner = next((base for base in kind.__mro__ if name in vars(base)), kind)
        if not owner.__module__.startswith("fencepost"):
            continue
        if isinstance(value, property):
            lines.append(f"{name}: property")
        elif callable(getattr(kind, name, None)) and not inspect.isclass(value):
            prefix = "async def" if inspect.iscoroutinefunction(getattr(kind, name)) else "def"
            lines.append(f"{prefix} {name}{inspect.signature(getattr(kind, name))}")
        else:
            lines.append(name)
    return lines


def main() -> int:
    lines = [line for module in modules() for line in [f"# {module}", *describe(module), ""]]
    text = re.sub(r" at 0x[0-9a-f]+", "", "\n".join(lines))
    if "--check" not in sys.argv[1:]:
        SNAPSHOT.write_text(text)
        return 0
    if not SNAPSHOT.exists() or SNAPSHOT.read_text() != text:
        print("the public API changed: run `make gen` and review docs/public-api.txt", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
