"""Names that are loaded when they are first asked for."""

import subprocess
import sys
from importlib import import_module

import pytest

PACKAGES = (
    "",
    ".eventlog",
    ".fences.host",
    ".fences.registry",
    ".fences.result",
    ".fences.sql",
    ".optimistic",
    ".testing",
)


@pytest.mark.parametrize("package", [f"fencepost{each}" for each in PACKAGES])
def test_a_package_lists_what_is_not_loaded_yet(package: str) -> None:
    module = import_module(package)
    # In a process of its own, where nothing was loaded before.
    code = f"import {package} as it; print(*dir(it)); import sys; print('asyncio' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    names, loaded = done.stdout.splitlines()
    assert set(module.__all__) <= set(names.split())
    assert "__file__" in names.split()
    assert loaded == "False" or package == "fencepost.testing"
