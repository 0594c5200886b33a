"""A member that lets us in, and then is silent or has no say: who leaves it for the next."""

import asyncio
import socket
import threading

import pytest
from h2 import events
from h2.config import H2Configuration
from h2.connection import H2Connection

from fencepost import Unavailable
from fencepost._runtime import threads
from fencepost.core.url import parse_url
from fencepost.drivers.etcd.endpoint import Endpoints
from fencepost.drivers.etcd.http2 import PING, SETTINGS, frame
from fencepost.drivers.etcd.request import KV_RANGE, LEASE_KEEP_ALIVE, LEASE_TIME_TO_LIVE, Call
from fencepost.drivers.etcd.trouble import NOT_FOUND, UNAVAILABLE, RpcError
from fencepost.drivers.etcd.wire import aio
from fencepost.drivers.etcd.wire.threads import Link
from tests.support.hostile import Hostile, Speech

PATIENCE = 1.0


def polite(call: socket.socket, over: threading.Event) -> None:
    call.sendall(frame(SETTINGS, 0, 0))
    over.wait()


def talkative(call: socket.socket, over: threading.Event) -> None:
    """To whomever else."""
    call.sendall(frame(SETTINGS, 0, 0))
    while not over.wait(0.1 * PATIENCE):
        call.sendall(frame(PING, 0, 0, bytes(8)))


hurries = pytest.mark.parametrize(
    ("share", "left"), [(0.8, True), (0.1, False)], ids=["most of the time", "little time"]
)


def members(port: int) -> Endpoints:
    return Endpoints(parse_url(f"etcd://127.0.0.1:{port},127.0.0.2:{port}"))


@pytest.mark.unit
def test_after_the_last_member_the_first_is_tried_again() -> None:
    endpoints = members(1)
    for host in ("127.0.0.2", "127.0.0.1", "127.0.0.2"):
        endpoints.leave(endpoints.current)
        assert endpoints.current.host == host


@hurries
def test_a_member_is_left_by_who_had_time_for_an_answer(share: float, left: bool) -> None:
    with Hostile(polite) as member:
        link = Link(members(member.port), PATIENCE)
        clock = threads.BootClock()
        with pytest.raises(Unavailable), threads.Limit(clock, clock.now() + share * PATIENCE):
            link.call(KV_RANGE, b"")
        assert (link.endpoints.current.host == "127.0.0.2") is left
        link.close()


@hurries
@pytest.mark.parametrize("several", [False, True], ids=["one call", "several"])
async def test_a_member_is_left_by_a_task_that_had_time_for_an_answer(share: float, left: bool, several: bool) -> None:
    with Hostile(polite) as member:
        link = aio.Link(members(member.port), PATIENCE)
        await link.take()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(share * PATIENCE):
                await (link.calls([(KV_RANGE, b"")]) if several else link.call(KV_RANGE, b""))
        assert (link.endpoints.current.host == "127.0.0.2") is left
        link.close()


async def test_a_member_that_answers_others_is_not_left_by_a_task_that_gives_up() -> None:
    with Hostile(talkative) as member:
        link = aio.Link(members(member.port), PATIENCE)
        await link.take()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.8 * PATIENCE):
                await link.call(KV_RANGE, b"")
        assert link.endpoints.current.host == "127.0.0.1"
        link.close()


def failing(code: int) -> Speech:
    """Whatever it is asked, it answers with that status: as a balancer does that has nobody left behind it."""

    def speak(call: socket.socket, over: threading.Event) -> None:
        end = H2Connection(H2Configuration(client_side=False))
        end.initiate_connection()
        call.sendall(end.data_to_send())
        while said := call.recv(65_536):
            for event in end.receive_data(said):
                if isinstance(event, events.RequestReceived):
                    status = [(":status", "200"), ("grpc-status", str(code)), ("grpc-message", "no healthy upstream")]
                    end.send_headers(event.stream_id, status, end_stream=True)
            call.sendall(end.data_to_send())

    return speak


RENEWAL: list[Call] = [(LEASE_KEEP_ALIVE, b""), (LEASE_TIME_TO_LIVE, b"")]
statuses = pytest.mark.parametrize(
    ("code", "left"), [(UNAVAILABLE, True), (NOT_FOUND, False)], ids=["unavailable", "not found"]
)


def look_at(found: list[bytes | RpcError], code: int, port: int) -> None:
    for each in found:
        assert isinstance(each, RpcError)
        assert (each.code, str(each.where)) == (code, f"127.0.0.1:{port}")


@statuses
def test_a_member_is_left_whose_answers_to_several_calls_say_that_another_may_know_better(
    code: int, left: bool
) -> None:
    """As it is for its answer to one. A renewal is several, and would never come elsewhere."""
    with Hostile(failing(code)) as member:
        link = Link(members(member.port), PATIENCE)
        look_at(link.calls(RENEWAL), code, member.port)
        assert (link.endpoints.current.host == "127.0.0.2") is left
        # A connection is given back once, or closed.
        assert len(link._free) == (0 if left else 1)
        link.close()


@statuses
async def test_a_member_is_left_by_tasks_to_whose_several_calls_it_says_that_another_may_know_better(
    code: int, left: bool
) -> None:
    with Hostile(failing(code)) as member:
        link = aio.Link(members(member.port), PATIENCE)
        look_at(await link.calls(RENEWAL), code, member.port)
        assert (link.endpoints.current.host == "127.0.0.2") is left
        assert (link._connection is None) is left
        link.close()
