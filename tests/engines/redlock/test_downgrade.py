"""A writer that goes on as a reader while some nodes do not hear of it."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

import fencepost
from fencepost import Uncertain
from fencepost.contract.answer import Gone
from fencepost.core.claim import Request
from fencepost.testing.condition import until
from fencepost.testing.redis import command, port_of
from fencepost.testing.server import ServerProcess
from tests.support.patience import connect
from tests.support.renewal import renew

from .conftest import url_of


@contextmanager
def stopped(nodes: list[ServerProcess]) -> Iterator[None]:
    for node in nodes:
        node.pause()
    try:
        yield
    finally:
        for node in nodes:
            node.resume()


@pytest.mark.slow
def test_a_reader_joins_while_two_nodes_are_stopped_and_a_writer_does_not_when_they_wake(
    nodes: list[ServerProcess],
) -> None:
    """Those two have a vote to hold the name alone still: no majority of them is anybody's."""
    with fencepost.connect(url_of(nodes), ttl=60) as first, fencepost.connect(url_of(nodes), ttl=60) as second:
        written = first.rwlock("a").write().acquire()
        taken: list[fencepost.Grant] = []
        reader = threading.Thread(target=lambda: taken.append(second.rwlock("a").read().acquire(timeout=60)))
        reader.start()
        until(lambda: first.look("a").waiters)
        with stopped(nodes[:2]):
            first.rwlock("a").downgrade(written)
            reader.join(60)
        assert taken[0].held
        assert second.rwlock("a").write().try_acquire() is None
        # Renewed as what it is at each of them.
        renew(first)
        assert written.held
        taken[0].release()
        written.release()
        with second.rwlock("a", timeout=60).write() as after:
            assert after.token > written.token


def test_without_a_majority_it_is_uncertain_and_held_still(nodes: list[ServerProcess]) -> None:
    with (
        connect(url_of(nodes), ttl=60, patience=1) as first,
        fencepost.connect(url_of(nodes), ttl=60) as second,
    ):
        written = first.rwlock("a").write().acquire()
        with stopped(nodes[:3]), pytest.raises(Uncertain, match="ours still"):
            first.rwlock("a").downgrade(written)
        assert written.held
        assert second.rwlock("a").write().try_acquire() is None
        until(lambda: downgraded(first, written))
        with second.rwlock("a", timeout=60).read():
            assert written.held


def downgraded(session: fencepost.Session, grant: fencepost.Grant) -> bool:
    """It has so little patience that a busy machine may be too slow for it."""
    try:
        session.rwlock("a").downgrade(grant)
    except Uncertain:
        return False
    return True


def test_a_node_that_forgot_its_vote_is_not_asked_for_one_to_hold_the_name_alone(nodes: list[ServerProcess]) -> None:
    with fencepost.connect(url_of(nodes), ttl=60) as session:
        written = session.rwlock("a").write().acquire()
        session.rwlock("a").downgrade(written)
        command(port_of(nodes[0]), "FLUSHALL")
        renew(session)
        assert written.held
        assert command(port_of(nodes[0]), "EXISTS", "a") == 0


def test_one_that_went_on_as_a_reader_and_was_evicted_is_not_claimed_anew(nodes: list[ServerProcess]) -> None:
    """A node that missed the eviction would take it for a writer, and has it as a reader."""
    with fencepost.connect(url_of(nodes), ttl=60) as first, fencepost.connect(url_of(nodes), ttl=60) as second:
        written = first.rwlock("a").write().acquire()
        request = Request(written.holder, written.claim.serial, (written.claim.ask,))
        first.rwlock("a").downgrade(written)
        second.evict("a")
        assert isinstance(first.engine.claim(request, wait=True), Gone)
        assert second.look("a").holders == ()
        assert second.look("a").waiters == ()


def test_a_reader_whose_lock_keys_were_deleted_is_told_before_another_holds_it_alone(
    nodes: list[ServerProcess],
) -> None:
    with fencepost.connect(url_of(nodes), ttl=60) as first, fencepost.connect(url_of(nodes), ttl=60) as second:
        held = first.rwlock("a").read().acquire()
        for node in nodes:
            command(port_of(node), "DEL", "a")
        assert second.lock("a").try_acquire() is None
        assert held.held
        renew(first)
        assert held.lost.is_set()
        after = second.lock("a").acquire(timeout=60)
        assert after.token > held.token


def test_a_writer_whose_lock_keys_somebody_has_made_to_last_goes_on_as_a_reader(nodes: list[ServerProcess]) -> None:
    """Without a time left that could be set anew, as in the last millisecond of a lease."""
    with fencepost.connect(url_of(nodes), ttl=60) as session:
        lock = session.rwlock("a")
        held = lock.write().acquire()
        for node in nodes:
            command(port_of(node), "PERSIST", "a")
        lock.downgrade(held)
        renew(session)
        assert held.held
