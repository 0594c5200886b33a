"""What is public, as docs/public-api.txt has it: every call that takes an argument."""

import importlib
import inspect
from collections.abc import Callable, Iterator

from tools.public_api import modules

# What speaks to servers by clients of others, with objects that are called alike (`Guarded`): tests/fences tries each.
# And what is tests itself.
ELSEWHERE = (
    *(f"fencepost.fences.{fence}" for fence in ("consul", "etcd", "redis", "zookeeper", "file")),
    "fencepost.testing.contract",
    "fencepost.testing.storm",
)


def calls() -> dict[str, tuple[str, ...]]:
    """The arguments of each call, by the title that it has in the table: those of a twin are the same."""
    found: dict[str, tuple[str, ...]] = {}
    for module in (importlib.import_module(each) for each in modules() if each not in ELSEWHERE):
        for name in module.__all__:
            value = getattr(module, name)
            titled = _methods(value) if inspect.isclass(value) else [(name, value)] if callable(value) else []
            for title, function in titled:
                arguments = tuple(each for each in inspect.signature(function).parameters if each != "self")
                if arguments:
                    title = title.removeprefix("Async").removesuffix("_async")
                    assert found.setdefault(title, arguments) == arguments, f"the twins of {title} differ"
    return found


def _methods(kind: type) -> Iterator[tuple[str, Callable[..., object]]]:
    if issubclass(kind, BaseException):
        return
    for name in dir(kind):
        owner = next((base for base in kind.__mro__ if name in vars(base)), object)
        public = not name.startswith("_") or name in ("__init__", "__call__")
        value = inspect.getattr_static(kind, name)
        if public and owner.__module__.startswith("fencepost") and callable(value) and not inspect.isclass(value):
            yield f"{kind.__name__}.{name}", value
