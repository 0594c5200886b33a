"""An object whose making was interrupted, by a signal handler that raised, is collected without a word."""

import importlib
import pkgutil
import sys
from collections.abc import Iterator

import pytest

import fencepost

pytestmark = pytest.mark.unit


def classes() -> Iterator[type]:
    """Every class that does something when it is collected."""
    for module in pkgutil.walk_packages(fencepost.__path__, "fencepost."):
        if not module.name.endswith("__main__"):
            for each in vars(importlib.import_module(module.name)).values():
                if isinstance(each, type) and "__del__" in vars(each) and each.__module__ == module.name:
                    yield each


def test_what_was_never_finished_ends_in_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    loud: dict[type, str] = {}
    kind: type = object
    monkeypatch.setattr(sys, "unraisablehook", lambda raised: loud.update({kind: str(raised.exc_value)}))
    for kind in list(classes()):
        kind.__new__(kind)  # type: ignore[call-overload]
    assert loud == {}
