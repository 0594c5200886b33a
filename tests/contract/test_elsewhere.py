"""The suite as somebody else runs it: by the page of the manual, on an engine that has no more than the least."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "contract-suite.md"
BLOCK = re.compile(r"^```python\n# (\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ENTRY = re.compile(r"^```toml\n\[project\.entry-points\.\"(.*)\"\]\n(\w+) = \"(\w+)\"\n```$", re.MULTILINE)
ENGINE = """
from dataclasses import replace

from fencepost.contract import registry

LEAST = dict.fromkeys(("shared", "counted", "together", "downgrade", "priority", "cells", "meters"), False)


class Engine(registry.engine("memory")):
    traits = replace(registry.engine("memory").traits, **LEAST)


class AsyncEngine(registry.async_engine("memory")):
    traits = Engine.traits
"""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """An engine as it is when its package is installed, and the files that the page shows."""
    ((group, scheme, module),) = ENTRY.findall(PAGE.read_text())
    (tmp_path / f"{module}.py").write_text(ENGINE)
    metadata = tmp_path / f"{module}-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[{group}]\n{scheme} = {module}\n")
    files = dict(BLOCK.findall(PAGE.read_text()))
    assert set(files) == {"conftest.py", "test_contract.py", "test_lives.py", "test_storm.py"}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_an_engine_with_the_least_of_traits_passes_by_the_page_alone(package: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": f"{package}:{os.environ.get('PYTHONPATH', '')}"}
    # The options of this suite are not those of another package.
    environment.pop("PYTEST_ADDOPTS", None)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--strict-markers"]
    run = subprocess.run(command, cwd=package, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout
    passed = re.search(r"(\d+) passed, (\d+) deselected", run.stdout)
    assert passed, run.stdout
    assert int(passed[1]) > 150
