"""Connections: no reply ever reaches another than who asked."""

import asyncio
import random
import socket
import threading
from typing import Any

import pytest

import fencepost
from fencepost._runtime.aio import BootClock
from fencepost._runtime.clock import boottime
from fencepost.contract import registry
from fencepost.core.holder import Holder
from fencepost.core.url import parse_url
from fencepost.engines.redis.address import Address, locate
from fencepost.engines.redis.resp import Parser, ReplyError, bulk, pack
from fencepost.engines.redis.wire import aio, threads
from fencepost.errors import Unavailable
from fencepost.testing.condition import until
from fencepost.testing.proxy import Proxy
from fencepost.testing.redis import command
from tests.support.hostile import Hostile


@pytest.mark.slow
@pytest.mark.storm
async def test_a_storm_of_cancellations_mixes_no_replies(port: int, dice: random.Random) -> None:
    link = aio.Link(Address(port=port), 60.0)
    wrong = []

    async def caller(number: int) -> None:
        for step in range(50):
            word = f"{number}/{step}".encode()
            call = asyncio.ensure_future(link.call(pack("ECHO", word)))
            await asyncio.sleep(0 if dice.random() < 0.5 else dice.random() / 2000)
            if dice.random() < 0.5:
                call.cancel()
            try:
                reply = await call
            except asyncio.CancelledError:
                continue
            if reply != word:
                wrong.append((word, reply))

    await asyncio.gather(*(caller(number) for number in range(40)))
    link.close()
    assert not wrong


@pytest.mark.slow
@pytest.mark.storm
async def test_a_storm_of_cancelled_acquires_leaves_nothing(url: str, dice: random.Random) -> None:
    async with fencepost.connect_async(url, ttl=60) as session, fencepost.connect_async(url) as other:

        async def acquire() -> None:
            async with session.lock(f"name {dice.randrange(3)}"):
                await asyncio.sleep(0)

        for _ in range(150):
            tasks = [asyncio.ensure_future(acquire()) for _ in range(5)]
            await asyncio.sleep(dice.random() / 500)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        assert list(await other.names()) == []


def test_a_reply_that_comes_too_late_is_nobodys(port: int) -> None:
    with Proxy(port) as proxy:
        link = threads.Link(Address(port=proxy.port), 0.3)

        def is_answered() -> bool:
            try:
                return bool(link.call(pack("ECHO", "one")) == b"one")
            except Unavailable:
                return False

        # A machine may be slower than that once, and not for ever.
        until(is_answered)
        proxy.hold()
        with pytest.raises(Unavailable, match=r"did not answer within 0\.3 s"):
            link.call(pack("ECHO", "two"))
        proxy.heal()
        link.patience = 60.0
        assert link.call(pack("ECHO", "three")) == b"three"
        link.close()


async def test_one_late_reply_fails_all_that_wait_behind_it(port: int) -> None:
    with Proxy(port) as proxy:
        link = aio.Link(Address(port=proxy.port), 0.3)

        async def is_answered() -> bool:
            try:
                return bool(await link.call(pack("ECHO", "one")) == b"one")
            except Unavailable:
                return False

        # As above.
        while not await is_answered():
            pass
        proxy.hold()
        calls = [asyncio.ensure_future(link.call(pack("ECHO", "late"))) for _ in range(3)]
        for outcome in await asyncio.gather(*calls, return_exceptions=True):
            assert isinstance(outcome, Unavailable)
        proxy.heal()
        link.patience = 60.0
        assert await link.call(pack("ECHO", "three")) == b"three"
        link.close()


@pytest.mark.slow
@pytest.mark.parametrize("several", [False, True], ids=["one command", "several"])
def test_connecting_and_asking_have_the_time_of_one_call_together(several: bool) -> None:
    patience = 4.0

    def slow(call: socket.socket, over: threading.Event) -> None:
        call.recv(1000)
        over.wait(0.8 * patience)
        call.sendall(b"+OK\r\n" * len(address.greeting()))
        over.wait()

    with Hostile(slow) as server:
        address = locate(parse_url(f"redis://:pw@127.0.0.1:{server.port}"))
        link = threads.Link(address, patience)
        began_at = boottime()
        with pytest.raises(Unavailable):
            link.calls(pack("ECHO", "one"), 1) if several else link.call(pack("ECHO", "one"))
        assert boottime() - began_at < 1.4 * patience
        link.close()


def test_an_interrupted_call_drops_its_connection(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    link = threads.Link(Address(port=port), 60.0)
    assert link.call(pack("ECHO", "zero")) == b"zero"
    with monkeypatch.context() as patch:
        patch.setattr(threads.Connection, "read", _interrupted)
        with pytest.raises(KeyboardInterrupt):
            link.call(pack("ECHO", "one"))
    assert link.call(pack("ECHO", "two")) == b"two"
    link.close()


def _interrupted(*_: object) -> None:
    raise KeyboardInterrupt


def test_threads_that_share_a_link_get_their_own_replies(port: int) -> None:
    link = threads.Link(Address(port=port), 60.0)
    wrong = []

    def caller(number: int) -> None:
        for step in range(200):
            word = f"{number}/{step}".encode()
            if link.call(pack("ECHO", word)) != word:
                wrong.append(word)

    callers = [threading.Thread(target=caller, args=[number]) for number in range(8)]
    for each in callers:
        each.start()
    for each in callers:
        each.join()
    link.close()
    assert not wrong


def test_messages_are_heard_alone_together_and_behind_the_answer_to_the_subscription(port: int) -> None:
    connection = threads.connect(Address(port=port), 60.0)
    connection.sendall(pack("SUBSCRIBE", "channel"))
    until(lambda: command(port, "PUBSUB", "NUMSUB", "channel")[1] == 1)
    for text in ("one", "two"):
        command(port, "PUBLISH", "channel", text)
    # The first has come by now, and is read together with the answer.
    assert connection.read()[0] == b"subscribe"
    assert _heard(connection, 2) == [b"one", b"two"]
    command(port, "PUBLISH", "channel", "alone")
    assert _heard(connection, 1) == [b"alone"]
    for text in ("three", "a line\r\nand another"):
        command(port, "PUBLISH", "channel", text)
    assert _heard(connection, 2) == [b"three", b"a line\r\nand another"]
    connection.close()


def _heard(connection: threads.Connection, count: int) -> list[bytes]:
    heard: list[bytes] = []
    while len(heard) < count:
        heard += connection.read_messages()
    return heard


def _encoded(reply: Any) -> bytes:
    if reply is None:
        return b"$-1\r\n"
    if isinstance(reply, int):
        return b":%d\r\n" % reply
    if isinstance(reply, bytes):
        return bulk(reply)
    return b"*%d\r\n%b" % (len(reply), b"".join(map(_encoded, reply)))


@pytest.mark.unit
def test_replies_are_read_whatever_the_pieces_they_come_in(dice: random.Random) -> None:
    def text() -> bytes:
        return bytes(dice.choice(b"a:\r\n$*+1") for _ in range(dice.randrange(6)))

    def made(depth: int = 0) -> Any:
        sort = dice.random()
        if sort < 0.2:
            return dice.randrange(-5, 10**15)
        if sort < 0.3:
            return [b"message", text(), text() + dice.choice((b"", b"\r\n", b"\r\n\r\n"))]
        if sort < 0.7 or depth > 3:
            return text()
        return None if sort < 0.75 else [made(depth + 1) for _ in range(dice.randrange(4))]

    for _ in range(2000):
        replies = [made() for _ in range(dice.randrange(1, 4))]
        data = b"".join(map(_encoded, replies))
        step = dice.choice((len(data), 1, 3, 7, dice.randrange(1, len(data) + 1)))
        parser = Parser()
        found = [reply for at in range(0, len(data), step) for reply in parser.feed(data[at : at + step])]
        assert found == replies


@pytest.mark.unit
@pytest.mark.parametrize("channel", [b"channel", b"chan\r\n$3"])
def test_a_message_that_looks_whole_and_is_not_is_read_to_its_end(channel: bytes) -> None:
    message = [b"message", channel, b"a line\r\nand another"]
    data = _encoded(message)
    for at in range(1, len(data)):
        parser = Parser()
        assert [*parser.feed(data[:at]), *parser.feed(data[at:])] == [message]


@pytest.mark.unit
def test_errors_and_what_is_no_redis_are_told_apart() -> None:
    (reply,) = Parser().feed(b"-NOPERM you may not\r\n")
    assert isinstance(reply, ReplyError)
    assert reply.code == "NOPERM"
    with pytest.raises(ValueError, match="is this a Redis server"):
        Parser().feed(b"HTTP/1.1 400 Bad Request\r\n")


@pytest.mark.parametrize("how", ["call", "calls"])
def test_a_reply_too_many_is_not_taken_for_the_next(port: int, how: str) -> None:
    link = threads.Link(Address(port=port), 60.0)
    connection = link.take()
    link.give_back(connection)
    connection.sendall(pack("ECHO", "stray"))
    until(connection.is_readable)
    words = pack("ECHO", "two")
    assert (link.call(words) if how == "call" else link.calls(words, 1)[0]) == b"two"
    link.close()


async def test_an_event_loop_ends_a_connection_that_answers_what_nobody_asked(port: int) -> None:
    link = aio.Link(Address(port=port), 60.0)
    connection = await link.connection()
    assert connection._transport is not None
    connection._transport.write(pack("ECHO", "stray"))
    while connection.error is None:
        await asyncio.sleep(0.005)
    assert await link.call(pack("ECHO", "two")) == b"two"
    link.close()


@pytest.mark.unit
def test_a_long_list_in_many_pieces_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    items = [b"name %d" % number for number in range(5000)]
    data = _encoded([items, 1])
    read = []
    whole = Parser._next

    def counted(parser: Parser) -> Any:
        read.append(1)
        return whole(parser)

    monkeypatch.setattr(Parser, "_next", counted)
    parser = Parser()
    pieces = [data[at : at + 100] for at in range(0, len(data), 100)]
    assert [reply for piece in pieces for reply in parser.feed(piece)] == [[items, 1]]
    assert not parser.is_midway
    # Each item once, and for each piece perhaps one that was cut.
    assert len(read) <= len(items) + 3 + len(pieces)


def test_a_long_reply_is_read_by_whoever_sets_no_time(port: int) -> None:
    text = "x" * 1_000_000
    command(port, "SET", "a", text)
    assert command(port, "GET", "a") == text.encode()


def _say_nothing(call: socket.socket, over: threading.Event) -> None:
    over.wait()


async def test_tasks_that_wait_for_one_to_connect_are_back_when_it_is() -> None:
    with Hostile(_say_nothing) as server:
        # It does not answer to the password.
        address = Address(port=server.port, password="secret")
        link, ear = aio.Link(address, 0.5), aio.Ear("channel", lambda message: None)
        calls = (link.call(pack("PING")) for _ in range(20))
        opens = (ear.open(address, 0.5) for _ in range(20))
        ends = await asyncio.gather(*calls, *opens, return_exceptions=True)
        assert [type(end) for end in ends] == [Unavailable] * 40
        # In turn, each would have connected anew.
        assert server.calls < 10
        link.close()


@pytest.mark.parametrize("kind", ["redis", "redis+cluster", "redis+sentinel"])
async def test_so_are_those_that_wait_for_one_to_find_the_server(kind: str) -> None:
    with Hostile(_say_nothing) as server:
        options = "/service?sentinel_password=secret" if kind == "redis+sentinel" else ""
        url = parse_url(f"{kind}://:secret@127.0.0.1:{server.port}{options}")
        engine = registry.async_engine(kind)(url, clock=BootClock(), patience=0.5)
        opens = (engine.lease_open(Holder(f"{number:024d}", "holder"), 60) for number in range(40))
        ends = await asyncio.gather(*opens, return_exceptions=True)
        assert [type(end) for end in ends] == [Unavailable] * 40
        assert server.calls < 20
        await engine.close()


def test_a_thread_that_listens_is_not_kept_by_another_that_can_not(port: int) -> None:
    with Hostile(_say_nothing) as server:
        ear = threads.Ear("channel", lambda message: None)
        failed: list[BaseException] = []

        def fail() -> None:
            try:
                ear.open(Address(port=server.port, password="secret"), 60.0)
            except Unavailable as error:
                failed.append(error)

        first = threading.Thread(target=fail)
        first.start()
        until(lambda: server.calls)
        ear.open(Address(port=port), 60.0)
        assert ear.is_open
        assert not failed
    first.join(60)
    assert failed
    assert ear.is_open
    ear.close()
