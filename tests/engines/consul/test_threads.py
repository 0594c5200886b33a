"""Threads that come and leave, and look who is there, at the same time; and signal handlers that raise in one."""

import itertools
import threading
from typing import Any

import pytest

from fencepost._runtime.threads import BootClock
from fencepost.core.claim import Ask, Request
from fencepost.core.holder import Holder
from fencepost.engines.consul._sync.line import Line
from fencepost.engines.consul.key import lock_of
from fencepost.engines.consul.lease import Entry
from fencepost.engines.consul.record import Record, write
from fencepost.engines.consul.scene import View, view_of
from fencepost.engines.consul.transaction import LOCK_FLAG, Pair
from tests.support.interruption import interrupt_at

pytestmark = pytest.mark.unit


class Leaving(threading.Thread):
    def __init__(self, line: Line, entry: Entry) -> None:
        super().__init__(target=line.leave, args=[entry])

    def begin(self) -> None:
        self.start()
        # As long as it takes if nothing keeps it from that, and no longer if something does.
        self.join(0.2)


def line() -> Line:
    store: Any = None
    return Line(store, "", BootClock())


def entry(serial: int) -> Entry:
    return Entry(Request(Holder("id", "label"), serial, (Ask("a"),)), "")


def held_by(one: Entry) -> View:
    key = lock_of("", "a")
    pair = Pair(key, write(Record(one.request, 10.0, 0.0)), "session", LOCK_FLAG, 5, 5)
    return view_of("a", key, {key: pair})


def test_one_that_comes_as_the_last_who_waits_leaves_is_told_of_its_grant() -> None:
    place, first, second = line(), entry(1), entry(2)
    place.join(first)
    leaving = Leaving(place, first)

    class Waiting(dict[Any, Any]):
        def setdefault(self, key: Any, default: Any = None) -> Any:
            found = super().setdefault(key, default)
            leaving.begin()
            return found

    place._waiting = Waiting(place._waiting)
    place.join(second)
    leaving.join()
    place._tell({"a": held_by(second)})
    assert second.tokens == {"a": 5}


def test_one_that_leaves_while_another_looks_whom_to_tell_is_no_error() -> None:
    place, first = line(), entry(1)
    place.join(first)
    leaving = Leaving(place, first)

    class There(dict[Any, Any]):
        def keys(self) -> Any:
            found = set(super().keys())
            leaving.begin()
            return found

    place._waiting["a"] = There(place._waiting["a"])
    place._tell({"a": held_by(first)})
    leaving.join()
    assert not place._waiting


class Asked(Exception):
    """Somebody asks the agent for news."""


class Store:
    """Of an agent that has no news, and is asked for it."""

    def __init__(self, pairs: dict[str, Pair]) -> None:
        self.pairs = pairs

    def now(self) -> float:
        return 0.0

    def read(self, operations: Any) -> dict[str, Pair]:
        return self.pairs

    def watch(self, *args: object, **named: object) -> None:
        raise Asked


# A generator that is dropped half way is closed when it is collected.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_whoever_is_interrupted_at_any_point_of_its_wait_leaves_it_to_another_to_ask_for_news() -> None:
    for point in itertools.count():
        holder, first, second = entry(1), entry(2), entry(3)
        lock = lock_of("", "a")
        records = {lock: holder, first.place("a"): first, second.place("a"): second}
        store: Any = Store(
            {
                key: Pair(key, write(Record(each.request, 10.0, 0.0)), "session", LOCK_FLAG * (key == lock), 5, 5)
                for key, each in records.items()
            }
        )
        place = Line(store, "", BootClock())
        place.join(first)
        place.join(second)

        def wait(place: Line = place, first: Entry = first) -> None:
            try:
                place.wait(first, 20.0)
            except Asked:
                pass

        where = interrupt_at(point, wait)
        place.leave(first)
        with pytest.raises(Asked):
            assert place.wait(second, 20.0), f"after {where}"
        assert not place._asking
        if where is None:
            break
    assert point > 10
