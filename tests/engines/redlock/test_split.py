"""Votes that are split between contenders: somebody gets them all, and nobody waits for ever."""

import threading
from contextlib import ExitStack
from functools import partial
from typing import Any

import pytest

import fencepost
from fencepost._runtime.threads import BootClock
from fencepost.contract.answer import Granted, Queued
from fencepost.core.claim import Ask, Claim, Mode, Request
from fencepost.core.holder import Holder
from fencepost.core.url import parse_url
from fencepost.engines.redis.redlock._sync.engine import Engine
from fencepost.engines.redis.redlock.ballot import Ballot
from fencepost.engines.redis.redlock.script import YIELD
from fencepost.engines.redis.script import Script
from fencepost.errors import Unavailable
from fencepost.testing.condition import until
from fencepost.testing.proxy import Proxy
from fencepost.testing.redis import command, port_of
from fencepost.testing.server import ServerProcess
from tests.support.patience import connect

from .conftest import url_of


def test_an_even_split_between_two_is_resolved(nodes: list[ServerProcess]) -> None:
    """Each is let to two of four nodes first, and has their votes; then to the others."""
    nodes = nodes[:4]
    with ExitStack() as stack:
        ways = [[stack.enter_context(Proxy(port_of(node))) for node in nodes] for _ in range(2)]
        sessions = []
        for proxies in ways:
            url = f"redlock://{','.join(f'127.0.0.1:{proxy.port}' for proxy in proxies)}"
            sessions.append(stack.enter_context(connect(url, ttl=300, patience=120)))
        for session in sessions:
            session.lock("warm").acquire().release()
        for proxy in (*ways[0][:2], *ways[1][2:]):
            proxy.hold()
        inside: list[int] = []
        most: list[int] = []

        def take(session: fencepost.Session) -> None:
            with session.lock("a", timeout=60) as grant:
                inside.append(grant.token)
                most.append(len(inside))
                inside.remove(grant.token)

        threads = [threading.Thread(target=take, args=[session]) for session in sessions]
        for thread in threads:
            thread.start()
        until(lambda: all(command(port_of(node), "EXISTS", "a") == 1 for node in nodes))
        owners = [command(port_of(node), "GET", "a").split(b":")[1] for node in nodes]
        assert owners[0] == owners[1] != owners[2] == owners[3]
        for proxy in (*ways[0], *ways[1]):
            proxy.heal()
        for thread in threads:
            thread.join(60)
        assert most == [1, 1]


def knows(port: int, holder: Holder) -> bool:
    return bool(command(port, "EXISTS", f"fencepost\0lease\0{holder.id}") == 1)


def votes_for(port: int, holder: Holder) -> bool:
    return holder.id.encode() in (command(port, "GET", "x") or b"")


def test_three_who_have_a_vote_each_and_do_not_know_it_are_served_one_after_another(
    nodes: list[ServerProcess],
) -> None:
    """Each hears two nodes say no; then the third gives it its vote, and that answer nobody waits for any more."""
    ports = [port_of(node) for node in nodes[:3]]
    holders = [Holder(f"{number:024d}", label) for number, label in enumerate("abc")]
    requests = [Request(holder, 1, (Ask("x"),)) for holder in holders]
    with ExitStack() as stack:
        engines: list[Engine] = []
        slow: list[Proxy] = []
        for number, holder in enumerate(holders):
            slow.append(stack.enter_context(Proxy(ports[number])))
            ways = [slow[-1].port if node == number else port for node, port in enumerate(ports)]
            url = parse_url(f"redlock://{','.join(f'127.0.0.1:{port}' for port in ways)}")
            engines.append(Engine(url, clock=BootClock(), patience=60.0))
            engines[-1].lease_open(holder, 300)
            engines[-1]._ears.open()
            for port in ports:
                until(partial(knows, port, holder))
        for port in ports:
            command(port, "SET", "x", "fp:stranger:1:1:0:", "PX", 300_000)
        queued: list[Queued] = []
        for number, (engine, request) in enumerate(zip(engines, requests, strict=True)):
            slow[number].hold()
            place = engine.claim(request, wait=True)
            assert isinstance(place, Queued)
            queued.append(place)
        for port in ports:
            command(port, "DEL", "x", "fencepost\0queue\0x")
        for number, holder in enumerate(holders):
            slow[number].heal()
            until(partial(votes_for, ports[number], holder))
        served: list[Claim] = []

        def take(number: int) -> None:
            granted = engines[number].wait(queued[number], 60)
            assert isinstance(granted, Granted)
            served.append(Claim(holders[number], 1, Ask("x"), granted.tokens[0]))
            engines[number].release(served[-1])

        threads = [threading.Thread(target=take, args=[number]) for number in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        tokens = [claim.token or 0 for claim in served]
        assert len(tokens) == 3
        assert tokens == sorted(tokens)
        for engine in engines:
            engine.close()


@pytest.mark.slow
def test_many_threads_of_two_sessions_never_stand_still(nodes: list[ServerProcess]) -> None:
    """Claims of one thread and releases of another cross: what comes late must not keep a vote from all others."""
    failures: list[BaseException] = []

    def contend(session: fencepost.Session) -> None:
        try:
            for _ in range(40):
                session.lock("a").acquire(timeout=60).release()
        except BaseException as error:
            failures.append(error)

    with ExitStack() as stack:
        # A vote that nobody gives back ends with its lease: far later than anybody waits here.
        sessions = [stack.enter_context(fencepost.connect(url_of(nodes[:3]), ttl=300)) for _ in range(2)]
        threads = [threading.Thread(target=contend, args=[sessions[number % 2]]) for number in range(24)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert failures == []


@pytest.mark.parametrize("count", [4, 5])
def test_many_who_come_at_once_again_and_again_are_all_served(nodes: list[ServerProcess], count: int) -> None:
    nodes = nodes[:count]
    tokens: list[int] = []
    inside = threading.Semaphore(1)
    barrier = threading.Barrier(6)
    failures: list[BaseException] = []

    def contend(session: fencepost.Session) -> None:
        try:
            for _ in range(10):
                barrier.wait(60)
                with session.lock("a", timeout=60) as grant:
                    assert inside.acquire(blocking=False), "two are inside"
                    tokens.append(grant.token)
                    inside.release()
        except BaseException as error:
            failures.append(error)
            barrier.abort()

    with ExitStack() as stack:
        sessions = [stack.enter_context(fencepost.connect(url_of(nodes), ttl=60)) for _ in range(6)]
        threads = [threading.Thread(target=contend, args=[session]) for session in sessions]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    assert failures == []
    assert len(tokens) == 60
    assert tokens == sorted(set(tokens))


def test_whoever_gives_way_stands_right_behind(nodes: list[ServerProcess]) -> None:
    """B has two votes, A the rest: once B looks, all votes are A's, and B is first in all queues, before C."""
    engines = [Engine(parse_url(url_of(nodes)), clock=BootClock(), patience=60.0) for _ in range(3)]
    holders = [Holder(f"{number:024d}", label) for number, label in enumerate("abc")]
    for engine, holder in zip(engines, holders, strict=True):
        engine.lease_open(holder, 300)
    requests = [Request(holder, 1, (Ask("x"),)) for holder in holders]
    for node in nodes[:2]:
        command(port_of(node), "SET", "x", "fp:stranger")
    a = engines[0].claim(requests[0], wait=True)
    assert isinstance(a, Granted)
    for node in nodes[:2]:
        command(port_of(node), "DEL", "x")
        command(port_of(node), "DEL", "fencepost\0queue\0x")
    b = engines[1].claim(requests[1], wait=True)
    c = engines[2].claim(requests[2], wait=True)
    assert isinstance(b, Queued)
    assert isinstance(c, Queued)
    # A asks again, as whoever lost the answer does, and so waits behind B at the two nodes that voted for it.
    assert engines[0].claim(requests[0], wait=True) == a

    def all_have_voted_for_a() -> bool:
        assert isinstance(engines[1].wait(b, 0.1), Queued)
        owners = {command(port_of(node), "GET", "x").split(b":")[1] for node in nodes}
        return owners == {holders[0].id.encode()}

    until(all_have_voted_for_a)
    lines = [command(port_of(node), "ZRANGE", "fencepost\0queue\0x", 0, -1) for node in nodes]
    assert {tuple(each.split(b":")[0] for each in line) for line in lines} == {
        (holders[1].id.encode(), holders[2].id.encode())
    }
    assert engines[0].release(Claim(holders[0], 1, Ask("x"), a.tokens[0]))
    assert isinstance(engines[1].wait(b, 60), Granted)
    for engine, holder in zip(engines, holders, strict=True):
        engine.lease_close(holder)
        engine.close()


def test_a_node_that_did_not_hear_who_was_to_have_its_vote_counts_again(
    nodes: list[ServerProcess], monkeypatch: pytest.MonkeyPatch
) -> None:
    nodes = nodes[:3]
    a, b = (Engine(parse_url(url_of(nodes)), clock=BootClock(), patience=60.0) for _ in range(2))
    first, second = Holder("0" * 24, "a"), Holder("1" * 24, "b")
    for engine, holder in ((a, first), (b, second)):
        engine.lease_open(holder, 300)
    command(port_of(nodes[0]), "SET", "x", "fp:stranger")
    held = a.claim(Request(first, 1, (Ask("x"),)), wait=True)
    assert isinstance(held, Granted)
    command(port_of(nodes[0]), "DEL", "x", "fencepost\0queue\0x")
    queued = b.claim(Request(second, 1, (Ask("x"),)), wait=True)
    assert isinstance(queued, Queued)
    until(lambda: command(port_of(nodes[0]), "GET", "x").split(b":")[1] == second.id.encode())
    ask = b._fleet.ask
    lost: list[int] = []

    def lose(script: Script, commands: list[bytes], ballot: Ballot, *rest: Any) -> None:
        if script is YIELD:
            lost.extend(ballot.asked)
            for node in ballot.asked:
                ballot.fail(node, Unavailable("nothing was heard"))
        else:
            ask(script, commands, ballot, *rest)

    monkeypatch.setattr(b._fleet, "ask", lose)
    # Also where the node answered late, and nobody heard of its vote then.
    until(lambda: isinstance(b.wait(queued, 0.1), Queued) and set(lost) == {0})
    monkeypatch.undo()
    nodes[1].kill()
    assert a.release(Claim(first, 1, Ask("x"), held.tokens[0]))
    assert isinstance(b.wait(queued, 60), Granted)
    for engine, holder in ((a, first), (b, second)):
        engine.lease_close(holder)
        engine.close()


def test_a_grant_that_was_taken_away_is_not_given_again_with_its_old_token(nodes: list[ServerProcess]) -> None:
    """Asked again, because the answer was lost, after an eviction and another holder: it is another grant."""
    engine = Engine(parse_url(url_of(nodes)), clock=BootClock(), patience=60.0)
    a, b = Holder("0" * 24, "a"), Holder("1" * 24, "b")
    for holder in (a, b):
        engine.lease_open(holder, 300)
    first = engine.claim(Request(a, 1, (Ask("x"),)), wait=False)
    assert isinstance(first, Granted)
    assert engine.claim(Request(a, 1, (Ask("x"),)), wait=False) == first
    engine.evict("x", "operator")
    second = engine.claim(Request(b, 1, (Ask("x"),)), wait=False)
    assert isinstance(second, Granted)
    engine.release(Claim(b, 1, Ask("x"), second.tokens[0]))
    third = engine.claim(Request(a, 1, (Ask("x"),)), wait=False)
    assert isinstance(third, Granted)
    assert first.tokens < second.tokens < third.tokens
    for holder in (a, b):
        engine.lease_close(holder)
    engine.close()


@pytest.mark.parametrize("first", ["f", "fp", "0"])
def test_whatever_a_holder_is_called_its_votes_and_places_are_renewed(nodes: list[ServerProcess], first: str) -> None:
    """A lock held alone starts with 'fp:' at a node, and so may the id of a holder, all but the colon."""
    engine = Engine(parse_url(url_of(nodes)), clock=BootClock(), patience=60.0)
    reader, writer = Holder(first + "1" * 23, "reader"), Holder(first + "2" * 23, "writer")
    for holder in (reader, writer):
        engine.lease_open(holder, 300)
    shared, alone = Ask("x", Mode.SHARED), Ask("y")
    claims = []
    for serial, ask in enumerate((shared, alone), 1):
        answer = engine.claim(Request(reader, serial, (ask,)), wait=False)
        assert isinstance(answer, Granted)
        claims.append(Claim(reader, serial, ask, answer.tokens[0]))
    assert engine.lease_renew(reader, 300, claims) == (True, ())
    queued = engine.claim(Request(writer, 1, (Ask("x"),)), wait=True)
    assert isinstance(queued, Queued)
    engine.release(claims[0])
    # What became a vote before anybody heard of it is told by the renewal.
    assert engine.lease_renew(writer, 300, []) == (True, ())
    assert isinstance(engine.wait(queued, 60), Granted)
    for holder in (reader, writer):
        engine.lease_close(holder)
    engine.close()
