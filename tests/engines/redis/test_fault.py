"""Real servers that die, stop, forget, or whose replies are lost."""

import asyncio
import contextlib
import math
import threading
from typing import cast

import pytest

import fencepost
from fencepost import Lost, Refused, Unavailable, Uncertain
from fencepost._runtime.clock import boottime
from fencepost.contract.answer import Granted, Queued
from fencepost.core.claim import Ask
from fencepost.engines.redis.address import Address
from fencepost.engines.redis.resp import pack
from fencepost.engines.redis.wire.threads import connect as connect_to_server
from fencepost.fences import MemoryFence
from fencepost.testing.condition import until
from fencepost.testing.proxy import Proxy
from fencepost.testing.redis import command, port_of
from fencepost.testing.server import ServerProcess
from tests.support.line import Line
from tests.support.patience import connect
from tests.support.renewal import renew, renew_async

from .conftest import StartServer


def at(port: int) -> str:
    return f"redis://127.0.0.1:{port}"


def test_a_killed_server_is_unavailable_and_back_after_its_restart(server: ServerProcess) -> None:
    with fencepost.connect(at(port_of(server)), ttl=60) as session:
        session.lock("a").acquire().release()
        server.kill()
        with pytest.raises((Unavailable, Uncertain)):
            session.lock("a").acquire(timeout=0)
        server.start()
        session.lock("a").acquire(timeout=60).release()


def test_whoever_waits_for_readers_whose_key_was_deleted_looks_when_their_lease_ends(url: str, port: int) -> None:
    with fencepost.connect(url, ttl=20) as reader, fencepost.connect(url, ttl=600) as writer, reader.rwlock("a").read():
        command(port, "DEL", "a")
        queued = writer.engine.claim(writer.keeper().request((Ask("a"),)), wait=True)
        assert isinstance(queued, Queued)
        assert queued.place.again_at - boottime() < 60


@pytest.mark.parametrize("shared", [False, True], ids=["held alone", "shared"])
def test_what_is_handed_over_is_held_no_longer_than_the_lease_of_its_new_holder(
    url: str, port: int, shared: bool
) -> None:
    """It may be dead: nobody waits for a lease of it, and then for another."""
    with fencepost.connect(url, ttl=60) as first, fencepost.connect(url, ttl=60) as dead:
        held = (first.rwlock("a").read() if shared else first.lock("a")).acquire()
        queued = dead.engine.claim(dead.keeper().request((Ask("a"),)), wait=True)
        assert isinstance(queued, Queued)
        (lease,) = command(port, "KEYS", f"*lease*{dead.keeper().holder.id}")
        command(port, "PEXPIRE", lease.decode(), 30_000)
        held.release()
        assert isinstance(dead.engine.wait(queued, 20.0), Granted)
        assert 0 < command(port, "PTTL", "a") <= 30_000


def test_who_may_only_listen_and_publish_gets_nobody_a_second_grant(url: str, port: int) -> None:
    """A message of a grant says what only its own request can know; the next says something else."""
    listening = connect_to_server(Address(port=port), 60.0)
    listening.sendall(pack("PSUBSCRIBE", "fencepost-*"))
    listening.read()
    with fencepost.connect(url, ttl=60) as first, fencepost.connect(url, ttl=60) as second:
        engine, keeper = second.engine, second.keeper()
        held = first.lock("a").acquire()
        queued = engine.claim(keeper.request((Ask("a"),)), wait=True)
        assert isinstance(queued, Queued)
        held.release()
        assert isinstance(engine.wait(queued, 20.0), Granted)
        _, _, channel, told = cast(list[bytes], listening.read())
        holder, _, token, nonce = told.decode().split(":")
        held = first.lock("b").acquire()
        queued = engine.claim(keeper.request((Ask("b"),)), wait=True)
        assert isinstance(queued, Queued)
        forged = f"{holder}:{queued.request.serial}:{int(token) + 1}:{nonce}"
        assert command(port, "PUBLISH", channel.decode(), forged) >= 1
        assert isinstance(engine.wait(queued, 0.3), Queued)
        assert held.held
    listening.close()


def test_a_place_whose_withdrawal_was_refused_for_a_while_does_not_stay(url: str, port: int) -> None:
    with fencepost.connect(url, ttl=60) as first:
        held = first.lock("a").acquire()
        address = url.replace("//", "//guest:pw@")
        command(port, "ACL", "SETUSER", "guest", "on", ">pw", "~*", "&*", "+@all")
        with fencepost.connect(address, ttl=60) as second:
            request = second.keeper().request((Ask("a"),))
            assert isinstance(second.engine.claim(request, wait=True), Queued)
            command(port, "ACL", "SETUSER", "guest", "-evalsha", "-eval")
            assert isinstance(second.keeper().settlement.settle(request, math.inf), Refused)
            assert first.look("a").waiters
            command(port, "ACL", "SETUSER", "guest", "+@all")
            # Its queue would end with its lease.
            until(lambda: not first.look("a").waiters, within=20.0)
            assert held.held
    command(port, "ACL", "DELUSER", "guest")


def test_closing_gives_back_what_a_release_without_an_answer_left(url: str, port: int) -> None:
    with Proxy(port) as proxy, fencepost.connect(url, ttl=60) as other:
        session = connect(f"redis://127.0.0.1:{proxy.port}", ttl=60, patience=0.3)
        held = session.lock("a").acquire()
        proxy.hold()
        with pytest.raises(Unavailable):
            session.engine.release(held.claim)
        proxy.cut()
        proxy.heal()
        session.engine.lease_close(session.keeper().holder)
        assert other.look("a").holders == ()
        session.close()


def test_a_release_passes_over_a_waiter_whose_lease_is_gone(url: str, port: int) -> None:
    with contextlib.ExitStack() as stack:
        first, dead, last = (stack.enter_context(fencepost.connect(url, ttl=60)) for _ in range(3))
        held = first.lock("a").acquire()
        for session in (dead, last):
            queued = session.engine.claim(session.keeper().request((Ask("a"),)), wait=True)
            assert isinstance(queued, Queued)
        (lease,) = command(port, "KEYS", f"*lease*{dead.keeper().holder.id}")
        command(port, "DEL", lease.decode())
        held.release()
        assert isinstance(queued, Queued)
        assert isinstance(last.engine.wait(queued, 20.0), Granted)


def test_a_restart_without_memory_ends_in_lost_and_the_token_still_grows(server: ServerProcess) -> None:
    url = at(port_of(server))
    with fencepost.connect(url, ttl=60) as first, fencepost.connect(url, ttl=60) as second:
        old = first.lock("a").acquire()
        server.kill()
        server.start()
        new = second.lock("a").acquire(timeout=60)
        assert new.token > old.token
        renew(first)
        assert old.lost.is_set()
        with pytest.raises(Lost):
            old.check()
        fence = MemoryFence()
        fence.claim("a", new)
        with pytest.raises(fencepost.Stale):
            fence.claim("a", old)


def test_a_restart_with_a_log_of_all_writes_keeps_the_lock(start_server: StartServer) -> None:
    server = start_server("--appendonly", "yes", "--appendfsync", "always")
    url = at(port_of(server))
    with fencepost.connect(url, ttl=60) as first, fencepost.connect(url, ttl=60) as second:
        held = first.lock("a").acquire()
        server.kill()
        server.start()
        assert second.lock("a").try_acquire() is None
        assert held.held
        held.release()
        assert second.lock("a").acquire(timeout=60).token > held.token


def test_the_holder_is_told_in_time_when_the_server_stops_answering(server: ServerProcess) -> None:
    url = at(port_of(server))
    # It waits for its renewal for far longer than the lease lasts: to be told by then would be too late.
    with connect(url, ttl=2, patience=300) as session, connect(url, ttl=60, patience=0.3) as impatient:
        impatient.lock("warm").acquire()
        grant = session.lock("a").acquire()
        server.pause()
        try:
            assert grant.lost.wait(60)
            with pytest.raises((Unavailable, Uncertain)):
                impatient.lock("b").acquire(timeout=0)
        finally:
            server.resume()
        session.lock("a").acquire(timeout=60).release()


def test_flushall_under_a_holder_and_a_waiter(port: int, url: str) -> None:
    with fencepost.connect(url, ttl=60) as first, fencepost.connect(url, ttl=6) as second:
        old = first.lock("a").acquire()
        taken = []
        waiter = threading.Thread(target=lambda: taken.append(second.lock("a").acquire(timeout=60)))
        waiter.start()
        until(lambda: first.look("a").waiters)
        command(port, "FLUSHALL")
        waiter.join(60)
        assert taken[0].token > old.token
        renew(first)
        assert old.lost.is_set()


def test_scripts_that_were_flushed_are_loaded_again(port: int, url: str) -> None:
    with fencepost.connect(url, ttl=60) as session:
        for _ in range(3):
            command(port, "SCRIPT", "FLUSH")
            grant = session.lock("a").acquire()
            command(port, "SCRIPT", "FLUSH")
            grant.release()


def test_a_claim_whose_reply_is_lost_leaves_no_phantom_holder(port: int, url: str) -> None:
    with (
        Proxy(port) as proxy,
        fencepost.connect(url, ttl=60) as other,
        connect(at(proxy.port), ttl=60, patience=0.5) as session,
    ):
        session.lock("warm").acquire().release()
        proxy.drop_replies()
        with pytest.raises((Unavailable, Uncertain)):
            session.lock("a").try_acquire()
        proxy.heal()
        renew(session)
        assert other.look("a").holders == ()
        session.lock("a").acquire(timeout=60).release()


def test_a_claim_asked_again_after_a_lost_reply_is_one_grant(port: int, url: str) -> None:
    with (
        Proxy(port) as proxy,
        fencepost.connect(url, ttl=60) as other,
        connect(at(proxy.port), ttl=60, patience=0.5) as session,
    ):
        session.lock("warm").acquire().release()
        proxy.drop_replies()
        taken: list[fencepost.Grant] = []
        asking = threading.Thread(target=lambda: taken.append(session.lock("a").acquire(timeout=60)))
        asking.start()
        # It is granted, and its holder has not heard of it.
        until(lambda: other.look("a").holders)
        assert taken == []
        proxy.heal()
        asking.join(60)
        assert [each.claim.token for each in other.look("a").holders] == [taken[0].token]


def channels(port: int) -> set[bytes]:
    return set(command(port, "PUBSUB", "CHANNELS"))


def test_a_waiter_whose_listening_connection_is_cut_keeps_its_place(port: int, url: str) -> None:
    with (
        Proxy(port) as proxy,
        fencepost.connect(url, ttl=60) as first,
        fencepost.connect(at(proxy.port), ttl=60, holder="cut") as cut,
        fencepost.connect(url, ttl=60, holder="behind") as behind,
    ):
        held = first.lock("a").acquire()
        line = Line(first)
        # Others may still listen at the server that tests share.
        before = channels(port)
        line.join(cut.lock("a", timeout=60))
        until(lambda: channels(port) - before)
        ours = channels(port) - before
        line.join(behind.lock("a", timeout=60))
        proxy.cut()
        until(lambda: not channels(port) & ours)
        proxy.heal()
        until(lambda: channels(port) & ours)
        until(lambda: len(first.look("a").waiters) == 2)
        held.release()
        assert [each.label for each in line.served()] == ["cut", "behind"]


async def test_a_waiter_that_gives_up_while_cut_off_leaves_its_place_later(port: int, url: str) -> None:
    with Proxy(port) as proxy:
        async with (
            fencepost.connect_async(url, ttl=60) as first,
            fencepost.connect_async(at(proxy.port), ttl=60) as cut,
        ):
            held = await first.lock("a").acquire()
            waiting = asyncio.ensure_future(cut.lock("a").acquire())
            while not (await first.look("a")).waiters:
                await asyncio.sleep(0.005)
            proxy.cut()
            waiting.cancel()
            await asyncio.wait([waiting])
            assert (await first.look("a")).waiters
            proxy.heal()
            # Its lease goes on, and so would its place.
            await renew_async(cut)
            assert (await first.look("a")).waiters == ()
            await held.release()
            assert (await first.look("a")).holders == ()
