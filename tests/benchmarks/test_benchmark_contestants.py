"""A benchmark is worth nothing if a contestant does not lock."""

import threading
from collections.abc import Iterator
from pathlib import Path
from time import monotonic_ns

import pytest

from benchmarks.host import contestants
from benchmarks.host.contestants import Contestant
from benchmarks.troop import Troop
from fencepost.testing.condition import until

ACROSS = [name for name, kind in contestants.ALL.items() if kind.across_processes]
HELD_NS = 50_000_000


@pytest.fixture
def contestant(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Contestant]:
    contestant = contestants.ALL[request.param](tmp_path)
    yield contestant
    contestant.close()


@pytest.mark.parametrize("contestant", contestants.ALL, indirect=True)
def test_every_contestant_times_each_of_its_cycles(contestant: Contestant) -> None:
    taken = contestant.cycles(5)
    assert len(taken) == 5
    assert min(taken) > 0


@pytest.mark.parametrize("contestant", contestants.ALL, indirect=True)
def test_nobody_counts_a_cycle_that_ended_before_or_after_the_window(contestant: Contestant) -> None:
    now = monotonic_ns()
    assert contestant.contend(now, now) == 0
    assert contestant.contend(2 * now, monotonic_ns() + 1_000_000) == 0
    until(lambda: contestant.contend(0, monotonic_ns() + 20_000_000) > 0)


@pytest.mark.slow
@pytest.mark.parametrize("name", ACROSS)
def test_nobody_gets_the_lock_while_another_process_holds_it(name: str, tmp_path: Path) -> None:
    holder = contestants.ALL[name](tmp_path)
    try:
        with Troop(1) as troop:
            troop.ask("open", contestants.ALL[name], tmp_path)
            holder.acquire()
            troop.ask("wake")
            threading.Event().wait(HELD_NS / 1e9)
            released_ns = monotonic_ns()
            holder.release()
            (acquired_ns,) = troop.hear()
            troop.ask("close")
    finally:
        holder.close()
    assert acquired_ns > released_ns
