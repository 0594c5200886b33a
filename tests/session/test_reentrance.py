"""What a reentrant lock leaves behind: nothing."""

import gc

import pytest

import fencepost

pytestmark = pytest.mark.unit


def test_flows_and_names_long_gone_take_no_room() -> None:
    with fencepost.connect("memory://") as session:
        for number in range(100):
            with session.lock(f"name {number}", reentrant=True):
                pass
        gc.collect()
        assert len(session.reentrance._grants) == 0


def test_an_entered_lock_is_given_back_by_its_last_release() -> None:
    with fencepost.connect("memory://") as session:
        lock = session.lock("a", reentrant=True)
        outer, inner = lock.acquire(), lock.acquire()
        outer.release()
        assert inner.held
        inner.release()
        assert session.look("a").holders == ()


def test_a_lock_that_was_lost_inside_is_entered_again_afterwards() -> None:
    with fencepost.connect("memory://") as session:
        lock = session.lock("a", reentrant=True)
        with pytest.raises(fencepost.Lost), lock as lost:
            with lock:
                session.keeper().lose("told so by the test")
            with pytest.raises(fencepost.Lost):
                lock.acquire()
        with lock as grant:
            assert grant.token > lost.token


def test_a_lock_that_was_lost_and_given_back_is_acquired_again() -> None:
    with fencepost.connect("memory://") as session:
        lock = session.lock("a", reentrant=True)
        lost = lock.acquire()
        session.keeper().lose("told so by the test")
        with pytest.raises(fencepost.Lost):
            lost.release()
        grant = lock.acquire()
        assert grant.token > lost.token
        assert lock.acquire() is grant
