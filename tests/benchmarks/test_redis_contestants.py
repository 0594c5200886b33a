"""A benchmark is worth nothing if a contestant does not lock: those on Redis."""

import threading
from collections.abc import Iterator
from time import monotonic_ns

import pytest

from benchmarks.redis import contestants
from benchmarks.redis.contestants import Contestant
from benchmarks.troop import Troop
from fencepost.testing.redis import command, shared_server

HELD_NS = 50_000_000


@pytest.fixture
def port() -> int:
    command(shared_server(), "FLUSHALL")
    return shared_server()


@pytest.fixture(params=contestants.ALL)
def contestant(request: pytest.FixtureRequest, port: int) -> Iterator[Contestant]:
    contestant = contestants.ALL[request.param](port)
    yield contestant
    contestant.close()


def test_every_contestant_times_each_of_its_cycles(contestant: Contestant) -> None:
    taken = contestant.cycles(5)
    assert len(taken) == 5
    assert min(taken) > 0


@pytest.mark.slow
def test_nobody_gets_the_lock_while_another_process_holds_it(contestant: Contestant, port: int) -> None:
    with Troop(1) as troop:
        troop.ask("open", type(contestant), port)
        contestant.acquire()
        troop.ask("wake")
        threading.Event().wait(HELD_NS / 1e9)
        released_ns = monotonic_ns()
        contestant.release()
        (acquired_ns,) = troop.hear()
        troop.ask("close")
    assert acquired_ns > released_ns
