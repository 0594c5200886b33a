"""The benchmark of ZooKeeper runs, and its contestants lock."""

import json
from pathlib import Path

import pytest

from benchmarks.zookeeper import contestants
from fencepost.testing.zookeeper import shared_server

from .test_benchmark_run import bench


@pytest.mark.parametrize("name", contestants.ALL)
def test_a_contestant_excludes_another(name: str) -> None:
    port = shared_server().port
    one, other = (contestants.ALL[name](port) for _ in range(2))
    try:
        assert len(one.cycles(3)) == len(other.cycles(3)) == 3
    finally:
        one.close()
        other.close()


def test_a_quick_run_of_zookeeper_reports_its_targets(tmp_path: Path) -> None:
    run = bench("zookeeper", "--quick", "--only", "a,d", "--json", str(tmp_path / "figures.json"))
    assert run.returncode == 0, run.stderr
    figures = json.loads((tmp_path / "figures.json").read_text())
    assert all(figures[letter]["targets"] for letter in "ad")
    assert figures["d"]["figures"]["lost"] == 0
