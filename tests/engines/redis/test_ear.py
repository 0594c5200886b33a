"""Whoever is told that it listens is heard of: also if the ear was closed while it was opened, or is half-open."""

import asyncio
import itertools
from collections.abc import Iterable
from typing import Any

import pytest

from fencepost._runtime.clock import boottime
from fencepost.engines.redis.address import Address
from fencepost.engines.redis.pulse import Pulse
from fencepost.engines.redis.redlock.fleet import threads as threads_fleet
from fencepost.engines.redis.redlock.waiter import Waiter as NodeWaiter
from fencepost.engines.redis.waiter import Waiter
from fencepost.engines.redis.wire.aio import connection as aio_connection
from fencepost.engines.redis.wire.aio import ear as aio_ear
from fencepost.engines.redis.wire.threads import connection as threads_connection
from fencepost.engines.redis.wire.threads import ear as threads_ear
from fencepost.errors import Unavailable
from fencepost.testing.condition import until
from fencepost.testing.proxy import Proxy
from fencepost.testing.redis import command
from tests.support.interruption import interrupt_at
from tests.support.now import now

PATIENCE = 60.0


def listeners(port: int, channel: str) -> int:
    counted: list[Any] = command(port, "PUBSUB", "NUMSUB", channel)
    return int(counted[1])


async def test_an_ear_that_is_closed_between_the_reply_and_its_reader_is_not_open(
    port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    ear = aio_ear.Ear("between", lambda message: None)
    send = aio_connection.Connection.send

    def send_and_close(connection: aio_connection.Connection, command: bytes) -> "asyncio.Future[Any]":
        future = send(connection, command)
        if b"SUBSCRIBE" in command:
            # Before whoever awaits the reply goes on.
            future.add_done_callback(lambda _: ear.close())
        return future

    with monkeypatch.context() as patch:
        patch.setattr(aio_connection.Connection, "send", send_and_close)
        with pytest.raises(Unavailable, match="closed"):
            await ear.open(Address(port=port), PATIENCE)
    assert not now(ear.is_open)
    await ear.open(Address(port=port), PATIENCE)
    assert ear.is_open
    assert listeners(port, "between") == 1
    ear.close()


async def test_an_ear_that_is_closed_while_a_task_connects_is_not_open(
    port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    ear = aio_ear.Ear("task", lambda message: None)

    async def connect_and_close(address: Address, patience: float) -> aio_connection.Connection:
        connection = await aio_connection.connect(address, patience)
        ear.close()
        return connection

    with monkeypatch.context() as patch:
        patch.setattr(aio_ear, "connect", connect_and_close)
        with pytest.raises(Unavailable, match="closed"):
            await ear.open(Address(port=port), PATIENCE)
    assert not ear.is_open
    await ear.open(Address(port=port), PATIENCE)
    assert listeners(port, "task") == 1
    ear.close()


def test_an_ear_that_is_closed_while_a_thread_connects_is_not_open(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    ear = threads_ear.Ear("thread", lambda message: None)

    def connect_and_close(address: Address, patience: float) -> threads_connection.Connection:
        connection = threads_connection.connect(address, patience)
        ear.close()
        return connection

    with monkeypatch.context() as patch:
        patch.setattr(threads_ear, "connect", connect_and_close)
        with pytest.raises(Unavailable, match="closed"):
            ear.open(Address(port=port), PATIENCE)
    assert not ear.is_open
    ear.open(Address(port=port), PATIENCE)
    assert listeners(port, "thread") == 1
    ear.close()


def test_who_is_silent_is_asked_once_and_given_up_when_it_stays_so() -> None:
    pulse = Pulse(5.0, 100.0)
    assert not pulse.asks(104.0)
    pulse.hear(104.0)
    assert not pulse.asks(108.0)
    assert pulse.asks(109.0)
    assert not pulse.asks(113.0)
    with pytest.raises(TimeoutError):
        pulse.asks(114.0)
    pulse.hear(115.0)
    assert not pulse.asks(119.0)
    assert pulse.asks(120.0)


def age(*pulses: Pulse) -> None:
    """As if it had been longer ago that anything was heard, or asked."""
    for pulse in pulses:
        pulse._heard_at -= PATIENCE
        if pulse._asked_at is not None:
            pulse._asked_at -= PATIENCE


def are_asked(pulses: Iterable[Pulse]) -> bool:
    return all(pulse._asked_at is not None for pulse in pulses)


def are_heard(pulses: Iterable[Pulse]) -> bool:
    return all(pulse._asked_at is None for pulse in pulses)


def test_a_thread_leaves_a_connection_that_is_half_open(port: int) -> None:
    with Proxy(port) as proxy:
        ear = threads_ear.Ear("half open", lambda message: None)
        ear.open(Address(port=proxy.port), PATIENCE)

        def listen() -> Iterable[Pulse]:
            ear.wait(Waiter(), boottime() + 0.02)
            return [ear._pulse]

        age(ear._pulse)
        listen()
        until(lambda: are_heard(listen()))
        proxy.drop_replies()
        age(ear._pulse)
        until(lambda: are_asked(listen()))
        age(ear._pulse)
        with pytest.raises(Unavailable, match="lost"):
            listen()
        assert not ear.is_open


def test_a_thread_leaves_connections_to_nodes_that_are_half_open(port: int) -> None:
    with Proxy(port) as proxy:
        ears = threads_fleet.Ears([Address(port=proxy.port)] * 3, PATIENCE, 2, "half open", lambda node, message: None)
        pulses = ears._pulses
        ears.open()

        def listen() -> Iterable[Pulse]:
            ears.wait(NodeWaiter(), boottime() + 0.02)
            return pulses.values()

        # Nobody waits for the third when it opens them.
        until(lambda: listen() and len(ears._hearing) == 3)
        age(*pulses.values())
        listen()
        until(lambda: are_heard(listen()))
        proxy.drop_replies()
        age(*pulses.values())
        until(lambda: are_asked(listen()))
        age(*pulses.values())
        with pytest.raises(Unavailable, match="fewer connections"):
            listen()
        ears.close()


async def test_a_task_leaves_a_connection_that_is_half_open(port: int) -> None:
    with Proxy(port) as proxy:
        ear = aio_ear.Ear("half open", lambda message: None)
        await ear.open(Address(port=proxy.port), PATIENCE)
        connection = ear._connection
        assert connection is not None
        pulse = connection._pulse
        assert pulse is not None
        waiting = asyncio.ensure_future(ear.wait(Waiter(), boottime() + PATIENCE))
        age(pulse)
        connection._beat(pulse)
        assert are_asked([pulse])
        while not are_heard([pulse]):
            await asyncio.sleep(0.005)
        proxy.drop_replies()
        for _ in range(2):
            age(pulse)
            connection._beat(pulse)
        with pytest.raises(Unavailable, match="lost"):
            await waiting
        assert not ear.is_open


def test_whoever_is_interrupted_anywhere_while_it_listens_lets_another_read(port: int) -> None:
    ear = threads_ear.Ear("interrupted", lambda message: None)
    for point in itertools.count():
        ear.open(Address(port=port), PATIENCE)
        where = interrupt_at(point, lambda: ear.wait(Waiter(), boottime() + 0.001))
        assert ear._watch.is_vacant, where
        assert not ear._watch.present, where
        if where is None:
            break
    assert point > 10
    ear.close()
