"""Keys of ours that somebody else writes anew, as `etcdctl put` does."""

import pytest

import fencepost
from fencepost.drivers.etcd import request
from fencepost.drivers.etcd.answer import KeyValue
from fencepost.engines.etcd.key import lease_of
from fencepost.testing.etcd import client
from tests.support.renewal import renew, renew_async

LASTING = 60.0
# For what comes within a second, on a machine that is busy with something else.
PATIENCE = 60.0

FLAVOURS = pytest.mark.parametrize("flavour", ["sync", "async"])


def keys_of(url: str, name: str) -> list[KeyValue]:
    """In the order of their creation."""
    speaker = client(url=url)
    start = f"{name}/".encode()
    pairs = speaker.read(request.select(start, request.prefix_end(start), by_creation=True)).pairs
    speaker.close()
    return pairs


def put(url: str, key: bytes, value: bytes = b"note", *, lease: int = 0) -> None:
    speaker = client(url=url)
    speaker.commit(request.transaction([], [request.put(key, value, lease)]))
    speaker.close()


@FLAVOURS
@pytest.mark.parametrize("leased", [False, True], ids=["without a lease", "on another lease"])
async def test_a_holder_whose_key_is_not_on_its_lease_any_more_is_told_by_the_next_renewal(
    url: str, flavour: str, leased: bool
) -> None:
    """It keeps the revision that made it, yet nobody else counts it any more."""
    with fencepost.connect(url, ttl=LASTING) as other:
        lease = lease_of(other.keeper().holder) if leased else 0
        if flavour == "sync":
            with fencepost.connect(url, ttl=LASTING) as session:
                grant = session.lock("a").acquire()
                put(url, keys_of(url, "a")[0].key, lease=lease)
                assert other.lock("a").acquire(timeout=PATIENCE).token > grant.token
                renew(session)
                assert not grant.held
        else:
            async with fencepost.connect_async(url, ttl=LASTING) as asession:
                agrant = await asession.lock("a").acquire()
                put(url, keys_of(url, "a")[0].key, lease=lease)
                assert other.lock("a").acquire(timeout=PATIENCE).token > agrant.token
                await renew_async(asession)
                assert not agrant.held


@FLAVOURS
async def test_a_writer_whose_key_is_not_on_its_lease_any_more_does_not_go_on_as_a_reader(
    url: str, flavour: str
) -> None:
    """Its key would count again, before that of whoever holds the lock by now."""
    with fencepost.connect(url, ttl=LASTING) as other:
        if flavour == "sync":
            with fencepost.connect(url, ttl=LASTING) as session:
                rwlock = session.rwlock("a")
                written = rwlock.write().acquire()
                put(url, keys_of(url, "a")[0].key)
                held = other.lock("a").acquire(timeout=PATIENCE)
                with pytest.raises(fencepost.Lost):
                    rwlock.downgrade(written)
        else:
            async with fencepost.connect_async(url, ttl=LASTING) as asession:
                arwlock = asession.rwlock("a")
                awritten = await arwlock.write().acquire()
                put(url, keys_of(url, "a")[0].key)
                held = other.lock("a").acquire(timeout=PATIENCE)
                with pytest.raises(fencepost.Lost):
                    await arwlock.downgrade(awritten)
        assert [each.claim.token for each in other.look("a").holders] == [held.token]
