"""The overhead of fences, as people measure it."""

import json
from pathlib import Path

import pytest

from tests.support.benchmarks.run import bench

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


def test_a_quick_run_shows_the_overhead_in_each_database(tmp_path: Path) -> None:
    run = bench("fences", "--quick", "--seed", "1", "--json", str(tmp_path / "figures.json"))
    assert run.returncode == 0, run.stderr
    figures = json.loads((tmp_path / "figures.json").read_text())
    for letter, ours in (("a", "guard, same token"), ("b", "execute"), ("c", "execute")):
        assert figures[letter]["figures"]["no fence"]["to_bare"] == 1
        assert figures[letter]["figures"][ours]["p50_us"] > 0
