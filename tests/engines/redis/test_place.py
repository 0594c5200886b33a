"""Where a server is and who we are to it; what else stands in it."""

import threading
from pathlib import Path

import pytest

import fencepost
from fencepost import Refused
from fencepost.core.claim import Ask
from fencepost.engines.redis._sync.engine import RedisEngine
from fencepost.engines.redis.address import Address
from fencepost.engines.redis.key import Place, shard_of, slot_of, tag_of
from fencepost.engines.redis.resp import ReplyError
from fencepost.testing.condition import until
from fencepost.testing.port import free_port
from fencepost.testing.redis import command, join_cluster, port_of, shared_cluster, shared_tls
from tests.support.engine import engine_as

from .conftest import StartServer


def test_a_wrong_password_says_what_to_check(start_server: StartServer) -> None:
    server = start_server("--requirepass", "secret")
    port = port_of(server)
    with fencepost.connect(f"redis://:secret@127.0.0.1:{port}") as session, session.lock("a"):
        pass
    with pytest.raises(Refused, match=r"WRONGPASS.*check the user and password"):
        fencepost.connect(f"redis://:wrong@127.0.0.1:{port}").lock("a").acquire()
    with pytest.raises(Refused, match=r"NOAUTH.*give a user and password"):
        fencepost.connect(f"redis://127.0.0.1:{port}").lock("a").acquire()


def test_a_user_with_the_documented_rights_may_do_everything(port: int, url: str) -> None:
    page = Path(__file__).parents[3] / "docs" / "engines" / "redis.md"
    (line,) = (line for line in page.read_text().splitlines() if line.strip().startswith("ACL SETUSER locker"))
    rights = line.split("locker ")[1].replace(">password", ">pw").replace("~prefix*", "~app/*")
    command(port, "ACL", "SETUSER", "locker", *rights.split())
    mine = f"redis://locker:pw@127.0.0.1:{port}?prefix=app/"
    with fencepost.connect(mine, ttl=60) as first, fencepost.connect(mine, ttl=60) as second:
        held = first.lock("a").acquire()
        taken = []
        waiter = threading.Thread(target=lambda: taken.append(second.lock("a").acquire(timeout=60)))
        waiter.start()
        until(lambda: first.look("a").waiters)
        held.release()
        waiter.join(60)
        assert taken[0].token > held.token
        assert list(first.names()) == ["a"]
        first.evict("a")
        with first.rwlock("b").write() as alone:
            alone.share()
        with first.semaphore("c", limit=2), first.lock_all(["d", "e"]):
            pass
        first.rate_limit("f", limit=10, per=1).acquire()
    locker = Address(port=port, username="locker", password="pw")
    for words in (
        ("FLUSHALL",),
        ("FLUSHDB",),
        ("SWAPDB", 0, 1),
        ("CLIENT", "KILL", "TYPE", "normal"),
        ("CONFIG", "GET", "*"),
    ):
        with pytest.raises(ReplyError, match="NOPERM"):
            command(locker, *words)
    with pytest.raises(Refused, match="NOPERM"), fencepost.connect(mine.replace("app/", "other/")) as session:
        session.lock("a").acquire()


def test_databases_do_not_share_locks(port: int, url: str) -> None:
    with fencepost.connect(f"{url}/0") as first, fencepost.connect(f"{url}/1") as second:
        first.lock("a").acquire()
        assert second.lock("a").try_acquire() is not None


def test_prefixes_are_nothing_but_the_start_of_a_key(port: int, url: str) -> None:
    with fencepost.connect(f"{url}?prefix=app/") as first, fencepost.connect(url) as second:
        held = first.lock("x").acquire()
        assert second.lock("app/x").try_acquire() is None
        assert list(second.names()) == ["app/x"]
        assert list(first.names()) == ["x"]
        taken = []
        waiter = threading.Thread(target=lambda: taken.append(second.lock("app/x").acquire(timeout=60)))
        waiter.start()
        until(lambda: first.look("x").waiters)
        held.release()
        waiter.join(60)
        assert taken[0].token > held.token


@pytest.mark.unit
@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("redis://127.0.0.1/zero", "is not a number"),
        ("redis://a,b", "names 2 servers"),
        ("redis://a?timeout=3", "unknown option 'timeout'"),
        ("redis://a?wait_replicas=many", "is a number"),
        ("redis+unix://host/path", "names no socket"),
        ("redis+sentinel://a", "names no service"),
        ("redis+cluster://a/1", "one database only"),
        ("rediss://a?ca=/no/such/file", "can not be read"),
    ],
)
def test_a_url_that_can_not_be_meant_is_refused_at_once(url: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fencepost.connect(url)


def test_a_certificate_that_nobody_vouches_for_is_not_trusted() -> None:
    port, _ = shared_tls()
    with pytest.raises(Refused, match="certificate"):
        fencepost.connect(f"rediss://127.0.0.1:{port}").lock("a").acquire(timeout=0)


def test_a_key_that_is_no_lock_is_left_alone(port: int, url: str) -> None:
    command(port, "HSET", "a", "field", "value")
    with fencepost.connect(url) as session:
        with pytest.raises(Refused, match="WRONGTYPE"):
            session.lock("a").acquire(timeout=0)
        assert command(port, "HGET", "a", "field") == b"value"
        assert list(session.names()) == []
        # Nor is it sent along with every renewal for ever.
        (lease,) = engine_as(session, RedisEngine)._leases.values()
        assert lease.entries == {}


def test_a_strangers_release_is_noticed_and_a_stranger_can_be_evicted(port: int, url: str) -> None:
    with fencepost.connect(url) as session:
        command(port, "SET", "a", "someone", "NX", "PX", 600_000)
        taken: list[fencepost.Grant] = []
        waiter = threading.Thread(target=lambda: taken.append(session.lock("a").acquire(timeout=60)))
        waiter.start()
        until(lambda: session.look("a").waiters)
        command(port, "DEL", "a")
        # Before its key would have ended by itself.
        waiter.join(50)
        taken[0].release()
        command(port, "SET", "a", "someone", "NX", "PX", 600_000)
        assert session.look("a").holders[0].claim.holder.label == "another client"
        assert len(session.evict("a")) == 1
        with session.lock("a", timeout=0):
            pass


def test_who_holds_and_who_waits_is_shown_also_if_somebody_has_made_their_lease_last(port: int, url: str) -> None:
    with fencepost.connect(url, ttl=600) as session:
        session.rwlock("a").read().acquire()
        keeper = session.keeper()
        session.engine.claim(keeper.request((Ask("a"),)), wait=True)
        assert command(port, "PERSIST", f"fencepost\0lease\0{keeper.holder.id}") == 1
        # As long as they are in the way of others.
        snapshot = session.look("a")
        assert (len(snapshot.holders), len(snapshot.waiters)) == (1, 1)


@pytest.mark.unit
def test_every_key_of_a_name_is_in_the_slot_of_its_lock() -> None:
    for name in ("plain", "{tag}rest", "a}b", "{}", "{}x{y}", "}{", "{{a}}", "ключ", "{a"):
        place = Place(name.encode(), clustered=True)
        slot = slot_of(name.encode())
        assert {slot_of(place.shard.queue(place.lock)), slot_of(place.shard.mark), slot_of(place.shard.lease("x"))} == {
            slot
        }
    assert slot_of(b"123456789") == 0x31C3 % 16384
    assert slot_of(b"{user1000}.following") == slot_of(b"user1000")
    assert {slot_of(b"x{%b}" % tag_of(slot)) for slot in range(0, 16384, 97)} == set(range(0, 16384, 97))
    assert shard_of(5) is shard_of(5)


@pytest.mark.slow
def test_names_with_braces_are_locked_in_a_cluster() -> None:
    ports = shared_cluster()
    with fencepost.connect(f"redis+cluster://127.0.0.1:{ports[0]}") as session:
        names = ["{tag}rest", "a}b", "{}", "}{", "{{a}}", "{a"]
        for name in names:
            session.lock(name).acquire(timeout=0)
            assert slot_of(name.encode()) == command(ports[0], "CLUSTER", "KEYSLOT", name)
        assert sorted(session.names()) == sorted(names)


@pytest.mark.slow
def test_a_slot_that_moves_is_followed(start_server: StartServer) -> None:
    options = ("--cluster-enabled", "yes", "--cluster-port")
    servers = [start_server(*options, str(free_port())) for _ in range(3)]
    ports = tuple(port_of(server) for server in servers)
    join_cluster(ports)
    ids = [command(port, "CLUSTER", "MYID").decode() for port in ports]
    slot = slot_of(b"a")
    source = next(
        index
        for index, port in enumerate(ports)
        for first, last, *nodes in command(port, "CLUSTER", "SLOTS")
        if first <= slot <= last and nodes[0][1] == port
    )
    target = (source + 1) % 3
    url = f"redis+cluster://127.0.0.1:{ports[0]}"
    with fencepost.connect(url, ttl=60) as session, fencepost.connect(url, ttl=60) as other:
        before = session.lock("a").acquire()
        before.release()
        command(ports[target], "CLUSTER", "SETSLOT", slot, "IMPORTING", ids[source])
        command(ports[source], "CLUSTER", "SETSLOT", slot, "MIGRATING", ids[target])
        for key in command(ports[source], "CLUSTER", "GETKEYSINSLOT", slot, 100):
            command(ports[source], "MIGRATE", "127.0.0.1", ports[target], key.decode(), 0, 2000)
        with pytest.raises(fencepost.FencepostError, match=r"TRYAGAIN|ASK"):
            other.lock("a").acquire(timeout=0)
        for port in (ports[target], ports[source]):
            command(port, "CLUSTER", "SETSLOT", slot, "NODE", ids[target])
        after = session.lock("a").acquire(timeout=0)
        assert after.token > before.token
        assert command(ports[target], "EXISTS", "a") == 1
