"""The examples of docs/testing.md run as they stand."""

import re
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]
DOCUMENT = Path(__file__).parents[2] / "docs" / "testing.md"


def test_the_examples_run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    examples = re.findall(r"^```python\n(.*?)^```", DOCUMENT.read_text(), re.MULTILINE | re.DOTALL)
    pytester.makepyfile("\n\n".join(examples))
    plugins = ["-p", "fencepost.testing.plugin", "-p", "pytest_asyncio.plugin"]
    result = pytester.runpytest(*plugins, "-W", "error", "-o", "asyncio_default_fixture_loop_scope=function")
    result.assert_outcomes(passed=sum(example.count("def test_") for example in examples))
