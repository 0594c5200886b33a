"""The benchmark of Redlock, as people run it."""

import json
from pathlib import Path

import pytest

from tests.support.benchmarks.run import bench

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


def test_a_quick_run_measures_everybody_on_five_nodes(tmp_path: Path) -> None:
    arguments = ("redlock", "--quick", "--seed", "1", "--json", str(tmp_path / "figures.json"))
    run = bench(*arguments)
    assert run.returncode == 0, run.stderr
    figures = json.loads((tmp_path / "figures.json").read_text())
    for letter in "ab":
        assert figures[letter]["targets"]
        assert len(figures[letter]["figures"]) == 4
    assert figures["b"]["figures"]["fencepost redlock://"]["per_second"] > 0
