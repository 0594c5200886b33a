"""The benchmarks on etcd, as people run them."""

import json
from pathlib import Path

import pytest

from tests.support.benchmarks.run import bench

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


def test_a_quick_run_on_etcd_reports_every_experiment_with_its_targets(tmp_path: Path) -> None:
    run = bench("etcd", "--quick", "--seed", "1", "--json", str(tmp_path / "figures.json"))
    assert run.returncode == 0, run.stderr
    figures = json.loads((tmp_path / "figures.json").read_text())
    assert all(figures[letter]["targets"] for letter in "abcd")
    assert figures["d"]["figures"]["lost"] == 0
