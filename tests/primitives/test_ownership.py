"""What a worker leaves behind when it ends: no partition."""

import threading

import pytest

import fencepost
from fencepost._runtime.clock import boottime
from fencepost.core.claim import Claim
from fencepost.primitives._sync.ownership import Ownership
from fencepost.testing.condition import until
from tests.support.interruption import Stop

pytestmark = pytest.mark.unit
PARTITION = "p/partition 0"
# What a busy machine needs at most, and much more than that.
SOON, LASTING = 20.0, 60.0


def until_owned(owned: Ownership, count: int) -> None:
    for grants in owned.watch():
        if len(grants) == count:
            return


def test_a_thread_that_is_granted_a_partition_after_the_release_gives_it_back() -> None:
    with fencepost.connect("memory://ownership", ttl=60) as session:
        owned = session.partitions("p", 1).acquire()
        until_owned(owned, 1)
        owned.release()
        # As the worker does that was still asking for it.
        asking = threading.Thread(target=owned._acquire, args=[0, 0.0])
        asking.start()
        asking.join()
        assert session.look(PARTITION).holders == ()


def test_a_worker_that_was_lost_takes_no_partition_under_the_next_lease() -> None:
    with fencepost.connect("memory://ownership", ttl=60) as session:
        owned = session.partitions("p", 1).acquire()
        until_owned(owned, 1)
        keeper = session.keeper()
        session.engine.lease_close(keeper.holder)
        keeper.lose("told so by the test")
        session.lock("another").acquire()
        owned._acquire(0, 0.0)
        assert session.look(PARTITION).holders == ()


def test_who_is_interrupted_in_the_release_finds_all_the_partitions_again(monkeypatch: pytest.MonkeyPatch) -> None:
    with fencepost.connect("memory://ownership", ttl=60) as session:
        owned = session.partitions("q", 3).acquire()
        until_owned(owned, 3)
        release = session.engine.release
        interruptions = [Stop()]

        def interrupted(claim: Claim) -> bool:
            if interruptions and threading.current_thread() is threading.main_thread():
                raise interruptions.pop()
            return release(claim)

        # Its own thread, which lets go of them as soon as it hears that we leave, is late.
        with monkeypatch.context() as patch:
            patch.setattr(owned, "_let_go", int)
            owned._over.set()
            owned._roster.leave(owned.id)
            assert owned._worker is not None
            owned._worker.join(20.0)
        monkeypatch.setattr(session.engine, "release", interrupted)
        with pytest.raises(Stop):
            owned.release()
        owned.release()
        assert session.names() == []


def test_who_leaves_does_not_wait_for_a_partition_that_another_works_on() -> None:
    # A third of the lease is how long its own thread would wait.
    with (
        fencepost.connect("memory://busy", ttl=600) as one,
        fencepost.connect("memory://busy", ttl=600) as other,
        one.partitions("p", 2) as owned,
    ):
        until_owned(owned, 2)
        with owned.using(0), owned.using(1):
            other.limits = other.limits._replace(call=1.0)
            leaving = other.partitions("p", 2).acquire()
            until(lambda: any(one.look(f"p/partition {number}").waiters for number in range(2)))
            began_at = boottime()
            leaving.release()
            assert boottime() - began_at < SOON
            assert leaving._worker is not None
            leaving._worker.join(LASTING)
            assert not any(one.look(f"p/partition {number}").waiters for number in range(2))
