"""Which connection holds what: asked by some while others change it."""

import itertools
import threading

import pytest

from fencepost.core.claim import Ask, Request
from fencepost.core.holder import Holder
from fencepost.engines.postgresql.advisory.lease import Entry, Lease
from tests.support.interruption import interrupt_at

pytestmark = pytest.mark.unit


def test_a_lock_that_is_given_back_while_another_thread_looks_for_it_is_there_or_not() -> None:
    lease: Lease[object] = Lease(Holder("a", "a"), 60, object(), trip=5)
    request = Request(lease.holder, 1, (Ask("a"),))
    entry = lease.begin(request, 0.0)
    assert entry is not None
    assert lease.granted(entry, 1)
    giving_back = threading.Thread(target=lease.forget, args=[entry])

    class Held(dict[str, Entry[object]]):
        def __contains__(self, name: object) -> bool:
            found = super().__contains__(name)
            # Whoever gives it back comes in between, if it can.
            giving_back.start()
            giving_back.join(0.1)
            return found

    lease.main.held = Held(lease.main.held)
    assert [claim.token for claim in lease.excluded(Ask("a"))] == [1]
    giving_back.join(60)
    assert not lease.main.held


def test_nobody_waits_on_a_connection_that_somebody_visits_for_what_was_held_there() -> None:
    lease: Lease[object] = Lease(Holder("a", "a"), 60, object(), trip=5)
    held, waiting = Request(lease.holder, 1, (Ask("a"),)), Request(lease.holder, 2, (Ask("b"),))
    entry = lease.begin(held, 0.0)
    assert entry is not None
    assert lease.granted(entry, 1)
    mark = object()
    assert lease.visit(entry, mark)
    lease.forget(entry)
    assert lease.begin(waiting, 0.0) is None
    entry.hold.users.discard(mark)
    assert lease.begin(waiting, 0.0) is not None
    assert not lease.visit(entry, mark)


def test_what_somebody_gripped_who_was_interrupted_then_is_for_others_to_change() -> None:
    lease: Lease[object] = Lease(Holder("a", "a"), 60, object(), trip=5)
    entry = lease.begin(Request(lease.holder, 1, (Ask("a"),)), 0.0)
    assert entry is not None
    assert lease.granted(entry, 1)
    for point in itertools.count():
        mark, other = object(), object()

        def change(mark: object = mark) -> None:
            try:
                lease.grip(entry, mark)
            except BaseException:
                lease.loosen(entry, mark)
                raise

        where = interrupt_at(point, change)
        if where is None:
            break
        assert not entry.hold.users, where
        assert lease.grip(entry, other), where
        lease.loosen(entry, other)
    assert point > 1
