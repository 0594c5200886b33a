"""The benchmark of ZooKeeper runs, and its contestants lock."""

import json
import threading
from pathlib import Path

import pytest

from benchmarks.zookeeper import contestants
from fencepost.testing.zookeeper import shared_server
from tests.support.benchmarks.run import bench

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", contestants.ALL)
def test_nobody_gets_the_lock_while_another_holds_it(name: str) -> None:
    port = shared_server().port
    holder, other = (contestants.ALL[name](port) for _ in range(2))
    done = threading.Event()
    holder.acquire()

    def wait() -> None:
        other.acquire()
        other.release()
        done.set()

    waiting = threading.Thread(target=wait)
    waiting.start()
    assert not done.wait(0.1)
    holder.release()
    assert done.wait(20)
    waiting.join()
    assert len(holder.cycles(3)) == 3
    for each in (holder, other):
        each.close()


@pytest.mark.timeout(600)
def test_a_quick_run_of_zookeeper_reports_its_targets(tmp_path: Path) -> None:
    run = bench("zookeeper", "--quick", "--only", "a,d", "--json", str(tmp_path / "figures.json"))
    assert run.returncode == 0, run.stderr
    figures = json.loads((tmp_path / "figures.json").read_text())
    assert all(figures[letter]["targets"] for letter in "ad")
    assert figures["d"]["figures"]["lost"] == 0
