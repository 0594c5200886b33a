"""The benchmarks as people run them."""

import json
from pathlib import Path

import pytest

from tests.support.benchmarks.run import bench

LONG = pytest.mark.timeout(600)


@LONG
@pytest.mark.slow
def test_a_quick_run_reports_every_experiment_with_its_targets(tmp_path: Path) -> None:
    run = bench("--quick", "--seed", "1", "--json", str(tmp_path / "figures.json"))
    assert run.returncode == 0, run.stderr
    figures = json.loads((tmp_path / "figures.json").read_text())
    assert figures["seed"] == 1
    assert all(figures[letter]["targets"] for letter in "abcd")
    assert figures["d"]["figures"]["upkeep"]["lost"] == 0
    for said in ("sqlite: ", "python: ", "cpus: ", "a. uncontended", "b. 3 contending", "c. waking", "d. scaling"):
        assert said in run.stdout


@LONG
@pytest.mark.slow
def test_a_quick_run_on_postgresql_measures_every_contestant(tmp_path: Path) -> None:
    run = bench("postgresql", "--quick", "--only", "a,c", "--seed", "1", "--json", str(tmp_path / "figures.json"))
    assert run.returncode == 0, run.stderr
    figures = json.loads((tmp_path / "figures.json").read_text())
    assert all(figures[letter]["targets"] for letter in "ac")
    assert {"tooz", "fencepost postgresql://"} <= set(figures["a"]["figures"])


def test_an_unknown_experiment_is_refused_by_name() -> None:
    run = bench("--only", "z")
    assert run.returncode == 2
    assert "no experiment 'z': choose from a, b, c, d" in run.stderr


@LONG
@pytest.mark.slow
def test_a_quick_run_on_redis_reports_every_experiment_with_its_targets(tmp_path: Path) -> None:
    run = bench("redis", "--quick", "--json", str(tmp_path / "figures.json"))
    assert run.returncode == 0, run.stderr
    figures = json.loads((tmp_path / "figures.json").read_text())
    assert all(figures[letter]["targets"] for letter in "abcde")
    assert figures["e"]["figures"]["fencepost redis://"]["lost"] == 0


@LONG
@pytest.mark.slow
def test_a_quick_run_on_consul_keeps_all_locks(tmp_path: Path) -> None:
    run = bench("consul", "--quick", "--seed", "1", "--json", str(tmp_path / "figures.json"))
    assert run.returncode == 0, run.stderr
    figures = json.loads((tmp_path / "figures.json").read_text())
    assert all(figures[letter]["targets"] for letter in "abcd")
    assert figures["d"]["figures"]["lost"] == 0
    assert figures["d"]["figures"]["renewals"] > 0
