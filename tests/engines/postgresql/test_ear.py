"""One of those who wait reads for all, and nobody misses anything when that one leaves."""

import threading
from collections.abc import Iterator

import pytest

from fencepost._runtime.clock import boottime
from fencepost.core.url import parse_url
from fencepost.engines.postgresql._sync.store import Store
from fencepost.engines.postgresql.address import locate
from fencepost.engines.postgresql.query import Query
from fencepost.engines.postgresql.waiter import Waiter
from fencepost.engines.postgresql.wire import threads
from fencepost.engines.postgresql.wire.threads import ear as module
from fencepost.errors import Unavailable
from fencepost.testing.condition import until
from fencepost.testing.postgresql import query

from .conftest import at


class Crowd:
    """Waiters in threads of their own, and the channel that they hear."""

    def __init__(self, port: int) -> None:
        self._port = port
        self.waiters: list[Waiter] = []
        self.ear = threads.Ear(lambda message: self.waiters[int(message)].stir())
        connection = threads.connect(locate(parse_url(at(port))), 60.0)
        connection.script("LISTEN crowd")
        self.ear.open(connection)

    def join(self, seconds: float) -> threading.Thread:
        """One more, who waits for so long at most."""
        waiter = Waiter()
        self.waiters.append(waiter)
        thread = threading.Thread(target=self._wait, args=(waiter, boottime() + seconds))
        thread.start()
        return thread

    def _wait(self, waiter: Waiter, at: float) -> None:
        try:
            self.ear.wait(waiter, at)
        except Unavailable as error:
            waiter.over = str(error)

    def tell(self, number: int) -> None:
        query(self._port, "SELECT pg_notify('crowd', %s)", str(number))


@pytest.fixture
def crowd(port: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[Crowd]:
    # Whoever is not told looks only when the test has failed.
    monkeypatch.setattr(module, "LONGEST_NAP", 300.0)
    crowd = Crowd(port)
    yield crowd
    crowd.ear.close()


def test_whoever_reads_hears_for_the_others(crowd: Crowd) -> None:
    reader = crowd.join(300)
    until(lambda: not crowd.ear._present.is_vacant)
    other = crowd.join(300)
    crowd.tell(1)
    other.join(60)
    assert crowd.waiters[1].stirred
    assert not crowd.waiters[0].stirred
    crowd.tell(0)
    reader.join(60)
    assert crowd.waiters[0].stirred


def test_when_whoever_reads_leaves_another_reads_on(crowd: Crowd) -> None:
    reader = crowd.join(0.3)
    until(lambda: not crowd.ear._present.is_vacant or not reader.is_alive())
    other = crowd.join(300)
    reader.join(60)
    crowd.tell(1)
    other.join(60)
    assert crowd.waiters[1].stirred


def test_all_who_wait_are_told_that_nothing_can_be_heard_any_more(crowd: Crowd) -> None:
    crowd_of_two = [crowd.join(300), crowd.join(300)]
    until(lambda: not crowd.ear._present.is_vacant)
    query(crowd._port, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query = 'LISTEN crowd'")
    for each in crowd_of_two:
        each.join(60)
    assert all("was lost" in (waiter.over or "") for waiter in crowd.waiters)


def test_closing_it_ends_the_wait_of_whoever_reads(crowd: Crowd) -> None:
    reader = crowd.join(300)
    until(lambda: not crowd.ear._present.is_vacant)
    crowd.ear.close()
    reader.join(60)
    assert not reader.is_alive()


def test_statements_are_planned_once_for_all(port: int) -> None:
    store = Store(parse_url(at(port)), 60.0)
    assert store.value(Query("setting", "SELECT current_setting($1)"), b"plan_cache_mode") == b"force_generic_plan"
    store.close()
