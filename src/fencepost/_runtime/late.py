"""Names that a package loads when they are first asked for: a blocking program need not wait for asyncio."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def late(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of `package`: each name of `homes` comes from the module it is mapped to."""

    def load(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module '{package}' has no attribute '{name}'")
        return getattr(import_module(homes[name]), name)

    return load


def listing(package: str) -> Callable[[], list[str]]:
    """The `__dir__` of `package`: also what is not loaded yet."""

    def names() -> list[str]:
        found = vars(sys.modules[package])
        return sorted({*found, *found["__all__"]})

    return names
