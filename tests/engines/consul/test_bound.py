"""An agent that answers each request in time, and never what was hoped for; and turns, of which there are so many."""

import asyncio
import itertools
import re
import socket
import threading
from functools import partial
from typing import Any

import pytest

from fencepost import Unavailable
from fencepost._runtime import aio, threads
from fencepost.core.claim import Ask, Request
from fencepost.core.holder import Holder
from fencepost.core.url import Url, parse_url
from fencepost.engines.consul._async.engine import AsyncConsulEngine
from fencepost.engines.consul._sync.engine import ConsulEngine
from fencepost.engines.consul.address import locate
from fencepost.engines.consul.lease import Lease
from fencepost.engines.consul.wire import MOST_CALLS
from fencepost.engines.consul.wire import aio as tasks
from fencepost.engines.consul.wire import threads as wire
from tests.support.hostile import Hostile, answering
from tests.support.interruption import interrupt_at

PATIENCE, PAUSE = 1.0, 0.05
# A claim is tried a hundred times, and each of them asks the agent at least once.
MOST = 50
CONFLICT = b'{"Errors":[{"OpIndex":1,"What":"somebody was quicker"}]}'
ANSWER = b"HTTP/1.1 409 Conflict\r\nContent-Length: %d\r\n\r\n%b" % (len(CONFLICT), CONFLICT)
HOLDER = Holder("holder", "holder")
REQUEST = Request(HOLDER, 1, (Ask("a"),))


class Busy:
    """The speech of an agent where somebody else is always quicker."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self, call: socket.socket, over: threading.Event) -> None:
        while call.recv(65_536):
            self.asked += 1
            over.wait(PAUSE)
            call.sendall(ANSWER)


def silent(call: socket.socket, over: threading.Event) -> None:
    over.wait()


def with_a_lease(engine: Any) -> Any:
    lease = engine._leases[HOLDER.id] = Lease(HOLDER, 60.0, "")
    lease.session = "session"
    return engine


def test_a_claim_that_others_get_in_the_way_of_takes_no_longer_than_one_exchange() -> None:
    speech = Busy()
    with Hostile(speech) as agent:
        url = parse_url(f"consul://127.0.0.1:{agent.port}")
        engine = with_a_lease(ConsulEngine(url, clock=threads.BootClock(), patience=PATIENCE))
        with pytest.raises(Unavailable):
            engine.claim(REQUEST, wait=True)
        assert speech.asked < MOST
        assert engine._leases[HOLDER.id].is_in_doubt(1)
        engine._store.close()


async def test_a_task_that_claims_is_back_as_soon() -> None:
    speech = Busy()
    with Hostile(speech) as agent:
        url = parse_url(f"consul://127.0.0.1:{agent.port}")
        engine = with_a_lease(AsyncConsulEngine(url, clock=aio.BootClock(), patience=PATIENCE))
        with pytest.raises(Unavailable):
            await engine.claim(REQUEST, wait=True)
        assert speech.asked < MOST
        assert engine._leases[HOLDER.id].is_in_doubt(1)
        engine._store.close()
        await asyncio.sleep(0)


def between_silence_and(agent: Hostile) -> Url:
    return parse_url(f"consul://127.0.0.1:{agent.port},127.0.0.2:{agent.port}")


def test_a_claim_that_was_not_answered_leaves_the_agent_to_itself() -> None:
    """All of its exchanges have the time of one, so the last of them has a little less: that is proof enough."""
    with Hostile(silent) as agent:
        engine = with_a_lease(ConsulEngine(between_silence_and(agent), clock=threads.BootClock(), patience=PATIENCE))
        with pytest.raises(Unavailable):
            engine.claim(REQUEST, wait=True)
        assert engine._store._link.host.host == "127.0.0.2"
        engine._store.close()


async def test_a_task_whose_claim_was_not_answered_leaves_the_agent_as_well() -> None:
    with Hostile(silent) as agent:
        engine = with_a_lease(AsyncConsulEngine(between_silence_and(agent), clock=aio.BootClock(), patience=PATIENCE))
        with pytest.raises(Unavailable):
            await engine.claim(REQUEST, wait=True)
        assert engine._store._link.host.host == "127.0.0.2"
        engine._store.close()
        await asyncio.sleep(0)


def test_whoever_had_no_time_for_an_answer_proves_nothing_against_the_agent() -> None:
    with Hostile(silent) as agent:
        link = wire.Link(locate(between_silence_and(agent)).hosts, 60.0)
        clock = threads.BootClock()
        with pytest.raises(Unavailable), threads.Limit(clock, clock.now() + 0.1):
            link.call(b"GET / HTTP/1.1\r\n\r\n")
        assert link.host.host == "127.0.0.1"
        link.close()


async def test_a_task_that_had_no_time_for_an_answer_proves_nothing_either() -> None:
    with Hostile(silent) as agent:
        link = tasks.Link(locate(between_silence_and(agent)).hosts, 60.0)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await link.call(b"GET / HTTP/1.1\r\n\r\n")
        assert link.host.host == "127.0.0.1"
        link.close()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning")
def test_whoever_is_interrupted_at_any_point_of_a_request_leaves_its_turn_to_others() -> None:
    with Hostile(answering(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]", re.compile(b"GET"))) as agent:
        hosts = locate(parse_url(f"consul://127.0.0.1:{agent.port}")).hosts
        link = wire.Link(hosts, 60.0)
        for point in itertools.count():
            where = interrupt_at(point, lambda: link.call(b"GET / HTTP/1.1\r\n\r\n"))
            assert link._turns.qsize() == MOST_CALLS, f"after {where}"
            if where is None:
                break
        link.close()
    assert point > 3


def leave(link: wire.Link) -> None:
    link._distrust(link.host)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_no_agent_is_lost_by_whoever_is_interrupted_as_it_leaves_one() -> None:
    for point in itertools.count():
        link = wire.Link(locate(parse_url("consul://one,two,three")).hosts, 60.0)
        where = interrupt_at(point, partial(leave, link))
        assert {each.host for each in link._hosts} == {"one", "two", "three"}, f"after {where}"
        if where is None:
            break
    assert [each.host for each in link._hosts] == ["two", "three", "one"]


async def test_a_task_waits_no_longer_for_its_turn_than_for_an_answer() -> None:
    """Else a renewal would stand behind all that wait for a silent agent, again and again."""
    with Hostile(silent) as agent:
        link = tasks.Link(locate(parse_url(f"consul://127.0.0.1:{agent.port}")).hosts, PATIENCE)
        calls = (link.call(b"GET / HTTP/1.1\r\n\r\n") for _ in range(3 * MOST_CALLS))
        for outcome in await asyncio.gather(*calls, return_exceptions=True):
            assert isinstance(outcome, Unavailable)
        assert agent.calls <= MOST_CALLS
        link.close()
