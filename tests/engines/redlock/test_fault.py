"""Nodes that die, stop, forget, or whose replies are lost: any minority of them is not missed."""

import asyncio
import socket
import threading
import time
from contextlib import ExitStack
from functools import partial
from typing import Any

import pytest

import fencepost
from fencepost import Unavailable, Uncertain
from fencepost.engines.redis.address import Address
from fencepost.engines.redis.redlock.ballot import Ballot, any_reply
from fencepost.engines.redis.redlock.fleet import aio as fleet
from fencepost.engines.redis.redlock.fleet import threads as threads_fleet
from fencepost.engines.redis.script import OPEN
from fencepost.testing.condition import until
from fencepost.testing.proxy import Proxy
from fencepost.testing.redis import command, port_of
from fencepost.testing.server import ServerProcess
from tests.support.hostile import Hostile
from tests.support.patience import connect, connect_async
from tests.support.renewal import renew, renew_async

from .conftest import url_of

# Far longer than anything here takes that does not wait for a node: whoever waits for one is found out.
PATIENCE = 240.0
SOON = 60.0


def harm(node: ServerProcess, fault: str) -> None:
    getattr(node, fault)()


def has_all_votes(nodes: list[ServerProcess]) -> bool:
    return all(command(port_of(node), "EXISTS", "a") for node in nodes)


def all_have_voted(nodes: list[ServerProcess], session: fencepost.Session) -> bool:
    """A majority is enough for a grant. A vote that did not come by then, as of a node without the script, is regained
    by a renewal."""
    renew(session)
    return has_all_votes(nodes)


def through(proxies: list[Proxy]) -> str:
    return f"redlock://{','.join(f'127.0.0.1:{proxy.port}' for proxy in proxies)}"


@pytest.mark.parametrize("fault", ["kill", "pause"])
def test_two_of_five_dead_or_stopped_nodes_do_not_slow_an_acquire(nodes: list[ServerProcess], fault: str) -> None:
    with connect(url_of(nodes), ttl=900, patience=PATIENCE) as session:
        before = session.lock("a").acquire()
        before.release()
        for node in nodes[:2]:
            harm(node, fault)
        for name in ("a", "b"):
            started = time.monotonic()
            grant = session.lock(name).acquire()
            assert time.monotonic() - started < SOON
            assert grant.token > before.token
            grant.release()
            assert time.monotonic() - started < SOON
        for node in nodes[:2]:
            node.resume() if fault == "pause" else None


@pytest.mark.parametrize("fault", ["kill", "pause"])
async def test_nor_do_they_slow_a_task(nodes: list[ServerProcess], fault: str) -> None:
    async with connect_async(url_of(nodes), ttl=900, patience=PATIENCE) as session:
        for node in nodes[:2]:
            harm(node, fault)
        for name in ("a", "b"):
            async with asyncio.timeout(SOON):
                async with session.lock(name):
                    pass
        for node in nodes[:2]:
            node.resume() if fault == "pause" else None


@pytest.mark.parametrize("fault", ["kill", "pause"])
def test_a_session_that_never_met_the_lost_nodes_acquires_as_well(nodes: list[ServerProcess], fault: str) -> None:
    for node in nodes[3:]:
        harm(node, fault)
    started = time.monotonic()
    with connect(url_of(nodes), ttl=900, patience=PATIENCE) as session:
        session.lock("a").acquire().release()
        assert time.monotonic() - started < SOON
        for node in nodes[3:]:
            node.resume() if fault == "pause" else None


def test_a_waiter_is_served_while_two_nodes_are_stopped(nodes: list[ServerProcess]) -> None:
    with fencepost.connect(url_of(nodes), ttl=60) as first, fencepost.connect(url_of(nodes), ttl=60) as second:
        held = first.lock("a").acquire()
        taken: list[fencepost.Grant] = []
        waiter = threading.Thread(target=lambda: taken.append(second.lock("a").acquire(timeout=60)))
        waiter.start()
        until(lambda: first.look("a").waiters)
        for node in nodes[:2]:
            node.pause()
        held.release()
        waiter.join(60)
        for node in nodes[:2]:
            node.resume()
        assert taken[0].token > held.token
        assert taken[0].held


def test_without_a_majority_nothing_is_granted_and_nothing_stays_held(nodes: list[ServerProcess]) -> None:
    with fencepost.connect(url_of(nodes), ttl=20) as session, fencepost.connect(url_of(nodes), ttl=60) as other:
        session.lock("a").acquire().release()
        for node in nodes[:3]:
            node.kill()
        with pytest.raises((Unavailable, Uncertain), match="of 5 nodes answered, and 3 are needed"):
            session.lock("a").acquire(timeout=0)
        for node in nodes[:3]:
            node.start()
        until(lambda: all(command(port_of(node), "EXISTS", "a") == 0 for node in nodes))
        other.lock("a").acquire(timeout=60).release()


def test_whoever_looks_for_names_is_told_how_many_nodes_answered(nodes: list[ServerProcess]) -> None:
    with fencepost.connect(url_of(nodes), ttl=60) as session:
        with session.lock("a"):
            assert session.names() == ["a"]
        for node in nodes[:3]:
            node.kill()
        with pytest.raises(Unavailable, match=r"^2 of 5 nodes answered, and 3 are needed: "):
            session.names()


async def test_so_is_a_task_that_looks_for_names(nodes: list[ServerProcess]) -> None:
    async with fencepost.connect_async(url_of(nodes), ttl=60) as session:
        for node in nodes[:3]:
            node.kill()
        with pytest.raises(Unavailable, match=r"^2 of 5 nodes answered, and 3 are needed: "):
            await session.names()


def test_a_holder_outlives_the_loss_of_every_node_one_after_another(nodes: list[ServerProcess]) -> None:
    """Nodes that came back without their data vote for it again, as long as a majority never forgot it."""
    nodes = nodes[:3]
    with fencepost.connect(url_of(nodes), ttl=60) as session, fencepost.connect(url_of(nodes), ttl=60) as other:
        grant = session.lock("a").acquire()
        until(lambda: all_have_voted(nodes, session))
        for node in nodes:
            node.kill()
            node.start()

            def has_voted(node: ServerProcess = node) -> bool:
                renew(session)
                return bool(command(port_of(node), "EXISTS", "a"))

            until(has_voted)
            # A vote gained by a renewal counts from the next one on: that one must not find two nodes without memory.
            renew(session)
            assert other.lock("a").try_acquire() is None
        assert grant.held
        assert {command(port_of(node), "GET", "a").split(b":")[3] for node in nodes} == {b"%d" % grant.token}
        grant.release()


def test_a_holder_whose_votes_are_gone_at_a_majority_is_told(nodes: list[ServerProcess]) -> None:
    with fencepost.connect(url_of(nodes), ttl=60) as session:
        grant = session.lock("a").acquire()
        until(lambda: all_have_voted(nodes, session))
        for node in nodes[:3]:
            command(port_of(node), "DEL", "a")
        renew(session)
        assert grant.lost.is_set()
        with pytest.raises(fencepost.Lost, match="a majority of nodes no longer has it"):
            grant.check()


def test_a_lock_that_another_held_meanwhile_is_not_revived_by_a_renewal(nodes: list[ServerProcess]) -> None:
    """The defect of extensions that set a key that is missing."""
    with fencepost.connect(url_of(nodes), ttl=60) as first, fencepost.connect(url_of(nodes), ttl=60) as second:
        old = first.lock("a").acquire()
        until(lambda: all_have_voted(nodes, first))
        for node in nodes:
            command(port_of(node), "DEL", "a")
        second.lock("a").acquire(timeout=0).release()
        renew(first)
        assert old.lost.is_set()


def test_replies_lost_at_a_minority_are_not_missed(nodes: list[ServerProcess]) -> None:
    with ExitStack() as stack:
        proxies = [stack.enter_context(Proxy(port_of(node))) for node in nodes]
        session = stack.enter_context(connect(through(proxies), ttl=900, patience=PATIENCE))
        for proxy in proxies[:2]:
            proxy.drop_replies()
        started = time.monotonic()
        session.lock("a").acquire().release()
        assert time.monotonic() - started < SOON
        # Who closes a session waits for all nodes: these are known to be gone.
        for proxy in proxies[:2]:
            proxy.cut()


def test_a_claim_whose_replies_are_lost_at_a_majority_leaves_no_phantom_holder(nodes: list[ServerProcess]) -> None:
    with ExitStack() as stack:
        proxies = [stack.enter_context(Proxy(port_of(node))) for node in nodes]
        session = stack.enter_context(connect(through(proxies), ttl=60, patience=1))
        other = stack.enter_context(fencepost.connect(url_of(nodes), ttl=60))
        session.lock("warm").acquire().release()
        for proxy in proxies[:3]:
            proxy.drop_replies()
        with pytest.raises((Unavailable, Uncertain)):
            session.lock("a").try_acquire()
        for proxy in proxies:
            proxy.heal()
        renew(session)
        until(lambda: not other.look("a").holders)
        session.lock("a").acquire(timeout=60).release()


def test_a_waiter_that_hears_only_a_majority_of_nodes_is_woken_by_them(nodes: list[ServerProcess]) -> None:
    with ExitStack() as stack:
        proxies = [stack.enter_context(Proxy(port_of(node))) for node in nodes]
        # A waiter looks again at the end of a lease, and renewals tell of its turn: both come later than that.
        first = stack.enter_context(fencepost.connect(url_of(nodes), ttl=900))
        second = stack.enter_context(fencepost.connect(through(proxies), ttl=900))
        held = first.lock("a").acquire()
        taken: list[fencepost.Grant] = []
        waiter = threading.Thread(target=lambda: taken.append(second.lock("a").acquire()))
        waiter.start()
        until(lambda: first.look("a").waiters)
        for proxy in proxies[:2]:
            proxy.cut()
        held.release()
        waiter.join(SOON)
        assert taken[0].token > held.token


def test_scripts_that_were_flushed_are_loaded_again(nodes: list[ServerProcess]) -> None:
    with fencepost.connect(url_of(nodes), ttl=60) as session:
        for _ in range(2):
            for node in nodes:
                command(port_of(node), "SCRIPT", "FLUSH")
            grant = session.lock("a").acquire()
            for node in nodes:
                command(port_of(node), "SCRIPT", "FLUSH")
            grant.release()


def test_all_nodes_restarted_while_nobody_looked_are_found_again(nodes: list[ServerProcess]) -> None:
    with fencepost.connect(url_of(nodes), ttl=60) as session:
        old = session.lock("a").acquire()
        old.release()
        for node in nodes:
            node.kill()
            node.start()
        assert session.lock("a").acquire(timeout=60).token > old.token


def test_a_release_reaches_also_the_nodes_that_answer_late_that_they_do_not_know_its_script(
    nodes: list[ServerProcess],
) -> None:
    with connect(url_of(nodes), ttl=900, patience=PATIENCE) as session:
        grant = session.lock("a").acquire()
        until(lambda: all_have_voted(nodes, session))
        for node in nodes:
            command(port_of(node), "SCRIPT", "FLUSH")
        for node in nodes[:2]:
            node.pause()
        grant.release()
        for node in nodes[:2]:
            node.resume()
        session.look("b")
        until(lambda: not any(command(port_of(node), "EXISTS", "a") for node in nodes))


async def test_a_waiter_that_gives_up_while_cut_off_leaves_its_places_later(nodes: list[ServerProcess]) -> None:
    def all_queues_have(length: int) -> bool:
        return all(command(port_of(node), "ZCARD", "fencepost\0queue\0a") == length for node in nodes)

    with ExitStack() as stack:
        proxies = [stack.enter_context(Proxy(port_of(node))) for node in nodes]
        async with (
            fencepost.connect_async(url_of(nodes), ttl=60) as first,
            connect_async(through(proxies), ttl=60, patience=2) as cut,
            fencepost.connect_async(url_of(nodes), ttl=60) as behind,
        ):
            held = await first.lock("a").acquire()
            # A majority is enough to hold it; where its vote is still missing, who waits would have that, and no place.
            while not has_all_votes(nodes):
                await renew_async(first)
            waiting = []
            for number, session in enumerate((cut, behind), 1):
                waiting.append(asyncio.ensure_future(session.lock("a").acquire()))
                await asyncio.to_thread(until, partial(all_queues_have, number))
            for proxy in proxies[:3]:
                proxy.cut()
            waiting[0].cancel()
            await asyncio.wait([waiting[0]])
            assert not all_queues_have(1)
            for proxy in proxies:
                proxy.heal()
            # Its lease goes on, and so do the queues: only the settlement can have removed its places.
            await renew_async(cut)
            await asyncio.to_thread(until, lambda: all_queues_have(1))
            await held.release()
            assert (await asyncio.wait_for(waiting[1], SOON)).token > held.token


async def test_what_a_silent_node_was_asked_is_over_when_it_was_waited_for_once(nodes: list[ServerProcess]) -> None:
    with Hostile(lambda call, over: over.wait()) as silent:
        # It does not answer to the password.
        addresses = [*(Address(port=port_of(node)) for node in nodes[:2]), Address(port=silent.port, password="secret")]
        asked = fleet.Fleet(addresses, 0.4)
        for _ in range(50):
            await asked.ask(OPEN, [OPEN.pack([b"a"], 1000)] * 3, Ballot(3, 2, any_reply))
        while asked._tasks:
            await asyncio.wait(asked._tasks)
        # In turn, each would have connected anew, while there come more of them.
        assert silent.calls < 10
        asked.close()


def test_nobody_waits_for_the_name_of_one_node(nodes: list[ServerProcess], monkeypatch: pytest.MonkeyPatch) -> None:
    known, look_up = threading.Event(), socket.getaddrinfo
    found: list[str] = []

    def stuck(host: str, port: int, *args: Any, **options: Any) -> Any:
        if host == "stuck.example" and not options.get("flags"):
            known.wait(20.0)
            found.append(host)
            host = "127.0.0.1"
        return look_up(host, port, *args, **options)

    monkeypatch.setattr(socket, "getaddrinfo", stuck)
    hosts = ["127.0.0.1", "127.0.0.1", "stuck.example"]
    addresses = [Address(host, port_of(node)) for host, node in zip(hosts, nodes, strict=False)]
    asked = threads_fleet.Fleet(addresses, 60.0)
    opened = Ballot(3, 2, any_reply)
    asked.ask(OPEN, [OPEN.pack([b"a"], 1000)] * 3, opened)
    assert opened.pending == [2]
    assert not found
    known.set()
    everybody = Ballot(3, 3, any_reply)
    asked.ask(OPEN, [OPEN.pack([b"a"], 1000)] * 3, everybody)
    assert everybody.ayes == 3
    asked.close()


@pytest.mark.parametrize("kept", [False, True], ids=["each with a fleet of its own", "one fleet"])
def test_a_silent_address_of_a_node_is_left_for_the_next(
    nodes: list[ServerProcess], monkeypatch: pytest.MonkeyPatch, kept: bool
) -> None:
    with ExitStack() as stack:
        full = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        for _ in range(10):
            guest = stack.enter_context(socket.socket())
            guest.setblocking(False)
            guest.connect_ex(full.getsockname())
        where = [full.getsockname(), ("127.0.0.1", port_of(nodes[0]))]
        found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", each) for each in where]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *args, **options: list(found))

        def fleet_of_one() -> threads_fleet.Fleet:
            made = threads_fleet.Fleet([Address("two.example", 1)], 0.3)
            stack.callback(made.close)
            return made

        one = fleet_of_one()

        def is_answered() -> bool:
            ballot = Ballot(1, 1, any_reply)
            (one if kept else fleet_of_one()).ask(OPEN, [OPEN.pack([b"a"], 1000)], ballot)
            return ballot.ayes == 1

        assert not is_answered()
        until(is_answered)
