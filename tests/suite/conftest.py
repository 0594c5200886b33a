"""Suites of a test or two, run apart with one of the plugins in tests/support."""

from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
Run = Callable[..., pytest.RunResult]


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run pytest in a process of its own: these plugins change what the whole process does."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.syspath_prepend(ROOT)
    monkeypatch.setenv("PYTHONPATH", str(ROOT), prepend=":")

    def run(plugin: str, *arguments: str) -> pytest.RunResult:
        return pytester.runpytest_subprocess("-p", f"tests.support.{plugin}", "--strict-markers", *arguments)

    return run
