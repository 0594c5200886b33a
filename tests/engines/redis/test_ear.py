"""Whoever is told that it listens is heard of: also if the ear was closed while it was being opened."""

import asyncio
from typing import Any

import pytest

from fencepost.engines.redis.address import Address
from fencepost.engines.redis.wire.aio import connection as aio_connection
from fencepost.engines.redis.wire.aio import ear as aio_ear
from fencepost.engines.redis.wire.threads import connection as threads_connection
from fencepost.engines.redis.wire.threads import ear as threads_ear
from fencepost.errors import Unavailable
from fencepost.testing.redis import command

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
    assert not ear.is_open
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
