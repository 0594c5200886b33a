"""Write the blocking twin of every `_async` source into `_sync`, line for line.

python tools/unasync.py          write the twins
python tools/unasync.py --check  fail if a committed twin is not what its source gives
"""

import re
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TREES = ("src", "tests")
SOURCE = "# Written by hand; the blocking twin under _sync is generated from it."
HEADER = "# Generated from {source} by tools/unasync.py. Do not edit: run `make gen`.\n"

WORDS: list[tuple[str, str | Callable[[re.Match[str]], str]]] = [
    (r"\basync (def|with|for)\b", r"\1"),
    (r"\bawait ", ""),
    (r"\b_async\b", "_sync"),
    (r"\bimport aio as\b", "import threads as"),
    (r"\bconnect_async\b", "connect"),
    (r"\basync_engine\b", "engine"),
    (r"\basynccontextmanager\b", "contextmanager"),
    (r"\bAbstractAsyncContextManager\b", "AbstractContextManager"),
    (r"\bAsyncExitStack\b", "ExitStack"),
    (r"\bStopAsyncIteration\b", "StopIteration"),
    (r"\b__a(enter|exit|iter|next)__\b", r"__\1__"),
    (r"\b(anext|aiter)\(", lambda match: match[1][1:] + "("),
    (r"\baclosing\b", "closing"),
    (r"\bASYNC = True\b", "ASYNC = False"),
    (r"\bFLAVOUR = \"async\"", 'FLAVOUR = "sync"'),
    (r"(?<![A-Za-z])Async(?=[A-Z])", ""),
]
RULES = [(re.compile(pattern), replacement) for pattern, replacement in WORDS]


def blocking(text: str) -> str:
    for pattern, replacement in RULES:
        text = pattern.sub(replacement, text)
    return text


def twins() -> dict[Path, str]:
    """Every generated file and the text it should have."""
    found = {}
    for tree in TREES:
        for source in sorted((ROOT / tree).rglob("_async/**/*.py")):
            relative = source.relative_to(ROOT)
            target = ROOT / Path(*("_sync" if part == "_async" else part for part in relative.parts))
            first, _, rest = source.read_text().partition("\n")
            if first != SOURCE:
                sys.exit(f"{relative}: the first line must be: {SOURCE}")
            found[target] = HEADER.format(source=relative.as_posix()) + blocking(rest)
    return found


def strays(expected: dict[Path, str]) -> list[Path]:
    """Files under `_sync` whose source is gone."""
    return [path for tree in TREES for path in sorted((ROOT / tree).rglob("_sync/**/*.py")) if path not in expected]


def main() -> int:
    expected = twins()
    stale = [path for path, text in expected.items() if not path.exists() or path.read_text() != text]
    stray = strays(expected)
    if "--check" in sys.argv[1:]:
        for path in stale + stray:
            print(f"stale twin: {path.relative_to(ROOT)}: run `make gen`", file=sys.stderr)
        return 1 if stale or stray else 0
    for path in stale:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(expected[path])
    for path in stray:
        path.unlink()
    print(f"{len(expected)} twins, {len(stale)} written, {len(stray)} removed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
