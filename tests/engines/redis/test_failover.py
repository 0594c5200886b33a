"""Replicas that lag, are promoted, and do not know: two holders, and tokens that are still in order."""

import tempfile
from pathlib import Path

import pytest

import fencepost
from fencepost import Stale, Unavailable
from fencepost._runtime.threads import BootClock
from fencepost.contract.answer import Granted, Queued
from fencepost.core.claim import Ask, Request
from fencepost.core.holder import Holder
from fencepost.core.url import parse_url
from fencepost.engines.redis._sync.engine import Engine
from fencepost.fences import MemoryFence
from fencepost.testing.binary import find_binary
from fencepost.testing.condition import until
from fencepost.testing.port import free_port
from fencepost.testing.proxy import Proxy
from fencepost.testing.redis import command, port_of, valkey_binary
from fencepost.testing.server import ServerProcess, listening

from .conftest import StartServer

# A master waits 5 s for further replicas before it serves the first.
AT_ONCE = ("--repl-diskless-sync-delay", "0")


def replicate(replica: ServerProcess, port: int) -> None:
    command(port_of(replica), "REPLICAOF", "127.0.0.1", port)
    until(lambda: b"master_link_status:up" in command(port_of(replica), "INFO", "replication"))


def shorten_the_wait_for_replicas(engine: Engine) -> None:
    """The master answers as late as it ever did; that a replica does not is known soon."""
    engine._server._node._patience = 0.2


def at(server: ServerProcess, options: str = "") -> str:
    return f"redis://127.0.0.1:{port_of(server)}{options}"


def test_a_promotion_behind_a_cut_link_makes_two_holders_and_the_fence_lets_one_write(
    start_server: StartServer,
) -> None:
    master, replica = start_server(*AT_ONCE), start_server()
    fence = MemoryFence()
    with Proxy(port_of(master)) as link:
        replicate(replica, link.port)
        with fencepost.connect(at(master), ttl=60) as first:
            first.lock("warm").acquire().release()
            until(lambda: command(port_of(replica), "GET", b"fencepost\0mark".decode()))
            link.cut()
            old = first.lock("a").acquire()
            command(port_of(replica), "REPLICAOF", "NO", "ONE")
            with fencepost.connect(at(replica), ttl=60) as second, second.lock("a", timeout=0) as new:
                assert old.held
                assert new.held
                assert new.token > old.token
                fence.claim("a", new)
                with pytest.raises(Stale), fence.guard("a", old):
                    raise AssertionError("the older holder wrote")


def test_a_grant_that_too_few_replicas_have_does_not_count_and_stays_until_withdrawn(
    start_server: StartServer,
) -> None:
    master, replica = start_server(*AT_ONCE), start_server()
    engine = Engine(parse_url(at(master, "?wait_replicas=1")), clock=BootClock(), patience=60.0)
    holder = Holder("0" * 24, "first")
    with Proxy(port_of(master)) as link:
        replicate(replica, link.port)
        engine.lease_open(holder, 120)
        assert isinstance(engine.claim(Request(holder, 1, (Ask("a"),)), wait=False), Granted)
        assert command(port_of(replica), "EXISTS", "a") == 1
        link.cut()
        shorten_the_wait_for_replicas(engine)
        with pytest.raises(Unavailable, match="0 of 1 replicas have the grant: it does not count"):
            engine.claim(Request(holder, 2, (Ask("b"),)), wait=False)
        # Undone on the quiet, it could be undone late: after it was asked for again.
        value = command(port_of(master), "GET", "b")
        assert value is not None
        with pytest.raises(Unavailable):
            engine.claim(Request(holder, 2, (Ask("b"),)), wait=False)
        assert command(port_of(master), "GET", "b") == value
        engine.withdraw(Request(holder, 2, (Ask("b"),)))
        assert command(port_of(master), "EXISTS", "b") == 0
        engine.close()


def test_a_session_gives_back_a_grant_that_too_few_replicas_have(start_server: StartServer) -> None:
    master = start_server()
    with fencepost.connect(at(master, "?wait_replicas=1"), ttl=60) as session:
        shorten_the_wait_for_replicas(session.engine)  # type: ignore[arg-type]
        with pytest.raises(Unavailable, match="0 of 1 replicas have the grant"):
            session.lock("a").acquire(timeout=0)
        assert command(port_of(master), "EXISTS", "a") == 0


def test_a_place_in_the_queue_is_no_grant_and_is_kept_while_the_replicas_lag(start_server: StartServer) -> None:
    master, replica = start_server(*AT_ONCE), start_server()
    engine = Engine(parse_url(at(master, "?wait_replicas=1")), clock=BootClock(), patience=60.0)
    waiter = Holder("0" * 24, "waiter")
    with Proxy(port_of(master)) as link, fencepost.connect(at(master), ttl=60) as first:
        replicate(replica, link.port)
        first.lock("a").acquire()
        first.lock("b").acquire()
        engine.lease_open(waiter, 120)
        # From here on it listens, and so takes a place at the first ask.
        assert isinstance(engine.claim(Request(waiter, 1, (Ask("b"),)), wait=True), Queued)
        link.cut()
        shorten_the_wait_for_replicas(engine)
        assert isinstance(engine.claim(Request(waiter, 2, (Ask("a"),)), wait=True), Queued)
        assert [standing.claim.holder for standing in first.look("a").waiters] == [waiter]
        engine.close()


def test_a_grant_handed_over_counts_only_once_the_replicas_have_it(start_server: StartServer) -> None:
    master, replica = start_server(*AT_ONCE), start_server()
    engine = Engine(parse_url(at(master, "?wait_replicas=1")), clock=BootClock(), patience=60.0)
    waiter = Holder("0" * 24, "waiter")
    with Proxy(port_of(master)) as link, fencepost.connect(at(master), ttl=60) as first:
        replicate(replica, link.port)
        held = first.lock("a").acquire()
        engine.lease_open(waiter, 120)
        request = Request(waiter, 1, (Ask("a"),))
        queued = engine.claim(request, wait=True)
        assert isinstance(queued, Queued)
        link.cut()
        shorten_the_wait_for_replicas(engine)
        held.release()
        with pytest.raises(Unavailable, match="0 of 1 replicas have the grant: it does not count"):
            engine.wait(queued, 60)
        (unheard,) = first.look("a").holders
        link.heal()
        until(lambda: b"master_link_status:up" in command(port_of(replica), "INFO", "replication"))
        engine._server._node._patience = 60.0
        granted = engine.claim(request, wait=True)
        assert isinstance(granted, Granted)
        assert granted.tokens[0] == unheard.claim.token
        assert granted.tokens[0] > held.token
        engine.close()


@pytest.mark.parametrize("server", ["redis", "valkey"])
def test_a_grant_handed_over_is_written_again_by_whoever_waits_for_replicas(
    start_server: StartServer, server: str
) -> None:
    """WAIT may know of the writes of its own connection alone: without one it counts what the replica had before."""
    binary = valkey_binary() if server == "valkey" else None
    master, replica = start_server(*AT_ONCE, binary=binary), start_server(binary=binary)
    engine = Engine(parse_url(at(master, "?wait_replicas=1")), clock=BootClock(), patience=60.0)
    waiter = Holder("0" * 24, "waiter")
    with Proxy(port_of(master)) as link, fencepost.connect(at(master), ttl=60) as first:
        replicate(replica, link.port)
        held = first.lock("a").acquire()
        engine.lease_open(waiter, 120)
        queued = engine.claim(Request(waiter, 1, (Ask("a"),)), wait=True)
        assert isinstance(queued, Queued)
        # The stream vanishes on its way, and the connection stays.
        link.drop_replies()
        shorten_the_wait_for_replicas(engine)
        held.release()
        # As in the millisecond of the hand-over: there is nothing to make longer.
        command(port_of(master), "PEXPIRE", "a", 600_000)
        with pytest.raises(Unavailable, match="0 of 1 replicas have the grant: it does not count"):
            engine.wait(queued, 60)
        engine.close()


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_session_follows_its_sentinels_to_the_new_master(start_server: StartServer) -> None:
    master, replica = start_server(*AT_ONCE), start_server()
    replicate(replica, port_of(master))
    port = free_port()
    settings = Path(tempfile.mkdtemp(prefix="fencepost-sentinel-")) / "sentinel.conf"
    settings.write_text(
        f"port {port}\nsentinel monitor service 127.0.0.1 {port_of(master)} 1\n"
        "sentinel down-after-milliseconds service 2000\nsentinel failover-timeout service 2000\n"
    )
    argv: list[str | Path] = [find_binary("redis-sentinel", "redis-sentinel"), settings]
    with ServerProcess(argv, ready=listening(port)):
        until(lambda: b"slaves=1" in command(port, "INFO", "sentinel"))
        with fencepost.connect(f"redis+sentinel://127.0.0.1:{port}/service", ttl=30) as session:
            old = session.lock("a").acquire()
            master.kill()

            def moved() -> bool:
                try:
                    session.lock("b").acquire(timeout=0).release()
                except fencepost.FencepostError:
                    return False
                return True

            # A sentinel that stood still for two seconds does nothing for half a minute.
            until(moved, 120)
            assert b"role:master" in command(port_of(replica), "INFO", "replication")
            assert session.lock("c").acquire(timeout=60).token > old.token
