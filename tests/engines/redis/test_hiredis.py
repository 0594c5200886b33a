"""What comes from a server is read as hiredis reads it, in whatever pieces; what we say, it reads as it was meant."""

from collections import deque
from collections.abc import Iterator
from typing import Any

import hiredis
import pytest
from hypothesis import strategies as st

from fencepost.engines.redis.address import Address
from fencepost.engines.redis.redlock.fleet.peer import PUSHED, Peer
from fencepost.engines.redis.resp import DEEPEST, Malformed, Parser, Reply, ReplyError, bulk, message_of, pack
from fencepost.engines.redis.wire.threads import Connection, Link
from fencepost.errors import Unavailable
from tests.support.course import cut, harmed, sizes, tried

LEAST, MOST = -(2**63), 2**63 - 1
JUNK = [b"-", b"*", b"$", b"\r\n", b"\r", b"\n", b"99", b":", b"_", b" ", b"+1", b"9" * 19, b"*1\r\n" * DEEPEST]
lines = st.text(st.characters(codec="ascii", exclude_characters="\r\n"), max_size=12).map(str.encode)
texts = st.binary(max_size=12) | st.sampled_from([b"", b"\r\n", b"a\r\n$1\r\n", b"message", bytes(300)])
numbers = (st.integers(LEAST, MOST) | st.sampled_from([0, -1, LEAST, MOST])).map(lambda number: b":%d\r\n" % number)
nothing = st.sampled_from([b"$-1\r\n", b"*-1\r\n", b"*0\r\n"])
leaves = (
    numbers
    | nothing
    | texts.map(bulk)
    | st.builds(lambda sort, line: sort + line + b"\r\n", st.sampled_from([b"+", b"-"]), lines)
)


def listed(items: list[bytes]) -> bytes:
    return b"*%d\r\n%b" % (len(items), b"".join(items))


replies = st.recursive(leaves, lambda inner: st.lists(inner, max_size=4).map(listed), max_leaves=10)
messages = st.builds(lambda *words: listed([b"$7\r\nmessage\r\n", *map(bulk, words)]), texts, texts)
said = st.lists(replies | numbers | messages, min_size=1, max_size=4).map(b"".join)
harmed_replies = harmed(said, *JUNK) | st.binary(min_size=1, max_size=40)
# What only RESP3 has, for which we never ask.
RESP3 = [
    b"_",
    b"#t",
    b",1.5",
    b"%1\r\n+a\r\n+b",
    b"~1\r\n:1",
    b"=7\r\ntxt:abc",
    b"(123",
    b">2\r\n+a\r\n+b",
    b"|0\r\n:1",
]


def known(*said: bytes) -> list[dict[str, Any]]:
    """What once was read wrongly."""
    return [{"data": each, "pieces": [100]} for each in said]


def comparable(reply: Reply) -> Reply:
    if isinstance(reply, ReplyError | hiredis.ReplyError):
        return "error", str(reply)
    return [comparable(each) for each in reply] if isinstance(reply, list) else reply


def theirs(data: bytes) -> tuple[list[Reply], bool]:
    """What is whole, and whether the rest is malformed."""
    reader, found = hiredis.Reader(), []
    reader.feed(data)
    try:
        while (reply := reader.gets()) is not False:
            found.append(comparable(reply))
    except hiredis.ProtocolError:
        return found, True
    return found, False


def ours(pieces: list[bytes]) -> tuple[list[Reply], bool]:
    parser = Parser()
    found: list[Reply] = []
    try:
        for piece in pieces:
            found += map(comparable, parser.feed(piece))
    except Malformed:
        return found, True
    return found, False


@tried(60, 1500, data=said, pieces=sizes)
def test_every_reply_is_read_as_hiredis_reads_it(data: bytes, pieces: list[int]) -> None:
    expected = theirs(data)
    assert not expected[1]
    assert ours([data]) == ours(cut(data, pieces)) == expected


@tried(80, 1500, *known(b"+a\nb\r\n", b"-a\rb\r\n", b"*1\r\n+\n$-1\r\n"), data=harmed_replies, pieces=sizes)
def test_harmed_replies_are_read_as_hiredis_reads_them_or_malformed(data: bytes, pieces: list[int]) -> None:
    expected, is_over = theirs(data)
    for each in (cut(data, pieces), cut(data, [1_000])):
        found, malformed = ours(each)
        # Stricter: RESP3, sizes beyond our bounds, and a text that is longer than it says, are malformed for us alone.
        assert found == expected[: len(found)]
        assert malformed or (found, False) == (expected, is_over)


@pytest.mark.unit
@pytest.mark.parametrize("reply", RESP3)
def test_what_only_resp3_has_is_malformed(reply: bytes) -> None:
    assert not theirs(reply + b"\r\n")[1]
    assert ours([reply + b"\r\n"]) == ours(cut(reply + b"\r\n", [1])) == ([], True)


@pytest.mark.unit
@pytest.mark.parametrize(
    "number", [b"+5", b"007", b"-0", b"1_0", b" 5", b"5 ", b"9223372036854775808", b"9" * 18 + b"99"]
)
def test_what_is_no_number_of_a_server_is_malformed(number: bytes) -> None:
    data = b":%b\r\n" % number
    assert theirs(data) == ours([data]) == ours(cut(data, [1])) == ([], True)
    assert ours([b"*2\r\n:0\r\n" + data]) == ([], True)


@tried(40, 2000, words=st.lists(texts | st.text("aж€", max_size=5) | st.integers(LEAST, MOST), min_size=1, max_size=5))
def test_hiredis_reads_a_command_as_it_was_meant(words: list[bytes | str | int]) -> None:
    meant = [word if isinstance(word, bytes) else str(word).encode() for word in words]
    assert theirs(pack(*words)) == ([meant], False)


# The shortcuts past the parser


class Said(Connection):
    """A connection on which all this has come, in pieces, and then the end."""

    def __init__(self, pieces: list[bytes]) -> None:
        left = iter(pieces)
        self.taken = b""
        self.waiting, self._parser, self.is_hurried = deque(), Parser(), False
        self.unread, self.sendall = lambda _: [], lambda _: None  # type: ignore[assignment,misc]
        self.recv = lambda _: self._next(left)  # type: ignore[assignment]

    def _next(self, left: Iterator[bytes]) -> bytes:
        piece = next(left, b"")
        self.taken += piece
        return piece

    def begin(self, patience: float) -> None:
        pass

    def close(self) -> None:
        pass


ALONE = [b":1_0\r\n", b": 5\r\n", b":5 \r\n", b":5\n", b":+5\r\n", b":%b\r\n" % (b"9" * 30)]


@tried(60, 1500, *known(*ALONE, b":1\r\n:2"), data=harmed_replies, pieces=sizes)
def test_a_call_gives_the_first_reply_and_keeps_a_connection_on_which_nothing_else_came(
    data: bytes, pieces: list[int]
) -> None:
    connection = Said(cut(data, pieces))
    link = Link(Address(), 60.0)
    link._free.append(connection)
    try:
        reply = comparable(link.call(b""))
    except Unavailable:
        assert not link._free
        return
    found, is_over = theirs(connection.taken)
    assert found[:1] == [reply]
    if link._free:
        # The last byte is of the first reply.
        assert (len(found), is_over) == (1, False)
        assert theirs(connection.taken[:-1]) == ([], False)


@tried(
    60,
    1500,
    *known(b"*3\r\n$7\r\nmessage\r\n$13\r\nab\r\n$3\r\nabc\r\n", b"*3\r\n$7\r\nmessage\r\n$2\r\nabc\r\n$1\r\na\r\n"),
    data=harmed(st.lists(messages, min_size=1, max_size=3).map(b"".join), *JUNK),
    pieces=sizes,
)
def test_messages_are_heard_as_hiredis_reads_them(data: bytes, pieces: list[int]) -> None:
    connection, heard = Said(cut(data, pieces)), []
    try:
        while True:
            heard += connection.read_messages()
    except (ConnectionError, Malformed):
        expected = [text for text in map(message_of, theirs(data)[0]) if text is not None]
        assert heard == expected[: len(heard)]
        assert connection.taken == data or ours(cut(data, pieces))[1]


class Socket:
    """One that never blocks: it says that there is no more for now."""

    def __init__(self, pieces: list[bytes]) -> None:
        self.pieces = deque(pieces)

    def recv(self, size: int) -> bytes:
        if not self.pieces:
            raise BlockingIOError
        data = self.pieces.popleft()
        if len(data) > size:
            self.pieces.appendleft(data[size:])
        return data[:size]

    def close(self) -> None:
        pass


# Of a list, and it looks as if it had come alone.
PART = {"data": b"*1\r\n:5\r\n", "pieces": [4]}


@tried(60, 1500, *known(*ALONE), PART, data=harmed_replies, pieces=sizes)
def test_a_node_of_redlock_is_read_as_hiredis_reads_it_and_its_replies_have_their_tickets(
    data: bytes, pieces: list[int]
) -> None:
    peer: Any = Peer.__new__(Peer)
    peer._opening, peer._out, peer._parser, peer.socket = None, b"", Parser(), Socket(cut(data, pieces))
    peer._tickets = deque((number, 0.0) for number in range(1, 3))
    found: list[tuple[int, Reply]] = []
    malformed = False
    try:
        while peer.socket.pieces:
            found += peer.advance()
    except Malformed:
        malformed = True
    expected, is_over = theirs(data)
    tickets = [1, 2, *(PUSHED for _ in expected)]
    assert [(ticket, comparable(reply)) for ticket, reply in found] == list(zip(tickets, expected, strict=False))[
        : len(found)
    ]
    assert malformed or (len(found), False) == (len(expected), is_over)
