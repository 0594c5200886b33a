"""Real servers that die, stop, forget, or whose replies are lost."""

import threading
import time
from pathlib import Path

import pytest

import fencepost
from fencepost import Lost, Unavailable, Uncertain
from fencepost.fences import MemoryFence
from fencepost.testing.condition import until
from fencepost.testing.proxy import Proxy
from fencepost.testing.redis import command, port_of, redis_server
from fencepost.testing.server import ServerProcess
from tests.engines.line import Line


def test_a_killed_server_is_unavailable_and_back_after_its_restart(server: ServerProcess, url: str) -> None:
    with fencepost.connect(url, ttl=2) as session:
        session.lock("a").acquire().release()
        server.kill()
        with pytest.raises((Unavailable, Uncertain)):
            session.lock("a").acquire(timeout=0)
        server.start()
        session.lock("a").acquire(timeout=10).release()


def test_a_restart_without_memory_ends_in_lost_and_the_token_still_grows(server: ServerProcess, url: str) -> None:
    with fencepost.connect(url, ttl=1.5) as first, fencepost.connect(url, ttl=1.5) as second:
        old = first.lock("a").acquire()
        server.kill()
        server.start()
        new = second.lock("a").acquire(timeout=10)
        assert new.token > old.token
        assert old.lost.wait(3)
        with pytest.raises(Lost):
            old.check()
        fence = MemoryFence()
        fence.claim("a", new)
        with pytest.raises(fencepost.Stale):
            fence.claim("a", old)


def test_a_restart_with_a_log_of_all_writes_keeps_the_lock(tmp_path: Path) -> None:
    options = ("--appendonly", "yes", "--appendfsync", "always")
    with redis_server(*options) as server:
        url = f"redis://127.0.0.1:{port_of(server)}"
        with fencepost.connect(url, ttl=6) as first, fencepost.connect(url, ttl=6) as second:
            held = first.lock("a").acquire()
            server.kill()
            server.start()
            time.sleep(1.1)  # Longer than an idle connection is trusted without a look.
            assert second.lock("a").try_acquire() is None
            assert held.held
            held.release()
            assert second.lock("a").acquire(timeout=5).token > held.token


def test_the_holder_is_told_in_time_when_the_server_stops_answering(server: ServerProcess, url: str) -> None:
    with fencepost.connect(url, ttl=1) as session:
        grant = session.lock("a").acquire()
        server.pause()
        try:
            assert grant.lost.wait(1.5)
            with pytest.raises((Unavailable, Uncertain)):
                session.lock("b").acquire(timeout=0)
        finally:
            server.resume()
        session.lock("a").acquire(timeout=10).release()


def test_flushall_under_a_holder_and_a_waiter(server: ServerProcess, url: str) -> None:
    with fencepost.connect(url, ttl=1) as first, fencepost.connect(url, ttl=1) as second:
        old = first.lock("a").acquire()
        taken = []
        waiter = threading.Thread(target=lambda: taken.append(second.lock("a").acquire(timeout=20)))
        waiter.start()
        until(lambda: first.look("a").waiters)
        command(port_of(server), "FLUSHALL")
        waiter.join(20)
        assert taken[0].token > old.token
        assert old.lost.wait(3)


def test_scripts_that_were_flushed_are_loaded_again(server: ServerProcess, url: str) -> None:
    with fencepost.connect(url) as session:
        for _ in range(3):
            command(port_of(server), "SCRIPT", "FLUSH")
            grant = session.lock("a").acquire()
            command(port_of(server), "SCRIPT", "FLUSH")
            grant.release()


def test_a_claim_whose_reply_is_lost_leaves_no_phantom_holder(server: ServerProcess, url: str) -> None:
    with (
        Proxy(port_of(server)) as proxy,
        fencepost.connect(url, ttl=2) as other,
        fencepost.connect(f"redis://127.0.0.1:{proxy.port}", ttl=2) as session,
    ):
        session.lock("warm").acquire().release()
        proxy.drop_replies()
        with pytest.raises((Unavailable, Uncertain)):
            session.lock("a").try_acquire()
        proxy.heal()
        until(lambda: not other.look("a").holders, 6)
        session.lock("a").acquire(timeout=5).release()


def test_a_claim_asked_again_after_a_lost_reply_is_one_grant(server: ServerProcess, url: str) -> None:
    with (
        Proxy(port_of(server)) as proxy,
        fencepost.connect(url, ttl=3) as other,
        fencepost.connect(f"redis://127.0.0.1:{proxy.port}", ttl=3) as session,
    ):
        session.lock("warm").acquire().release()
        proxy.drop_replies()
        healing = threading.Timer(0.5, proxy.heal)
        healing.start()
        with session.lock("a", timeout=10) as grant:
            assert [each.claim.token for each in other.look("a").holders] == [grant.token]
        healing.join()


def test_a_waiter_whose_listening_connection_is_cut_keeps_its_place(server: ServerProcess, url: str) -> None:
    with (
        Proxy(port_of(server)) as proxy,
        fencepost.connect(url, ttl=5) as first,
        fencepost.connect(f"redis://127.0.0.1:{proxy.port}", ttl=5, holder="cut") as cut,
        fencepost.connect(url, ttl=5, holder="behind") as behind,
    ):
        held = first.lock("a").acquire()
        line = Line(first)
        line.join(cut.lock("a", timeout=20))
        line.join(behind.lock("a", timeout=20))
        proxy.cut()
        until(lambda: len(command(port_of(server), "PUBSUB", "CHANNELS")) == 1)
        proxy.heal()
        until(lambda: len(command(port_of(server), "PUBSUB", "CHANNELS")) == 2)
        until(lambda: len(first.look("a").waiters) == 2)
        held.release()
        assert [each.label for each in line.served()] == ["cut", "behind"]


def test_a_waiter_that_gives_up_while_cut_off_leaves_its_place_later(server: ServerProcess) -> None:
    with (
        Proxy(port_of(server)) as proxy,
        fencepost.connect(f"redis://127.0.0.1:{port_of(server)}", ttl=20) as first,
        fencepost.connect(f"redis://127.0.0.1:{proxy.port}", ttl=12) as cut,
    ):
        keeper = cut.keeper()
        held = first.lock("a").acquire()
        raised: list[Exception] = []

        def give_up() -> None:
            try:
                cut.lock("a").acquire(timeout=2)
            except fencepost.FencepostError as error:
                raised.append(error)

        thread = threading.Thread(target=give_up)
        thread.start()
        until(lambda: first.look("a").waiters)
        proxy.cut()
        thread.join(30)
        assert isinstance(raised[0], fencepost.Uncertain)
        proxy.heal()
        # Within two renewals, and before a queue that nobody keeps would have ended by itself.
        until(lambda: not first.look("a").waiters, 8)
        assert keeper.proven()
        held.release()
        assert first.look("a").holders == ()
