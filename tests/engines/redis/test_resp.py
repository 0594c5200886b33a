"""What comes from a server is not trusted: it is read as redis-py reads it, or it is malformed, soon and for little."""

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from redis._parsers.resp2 import _RESP2Parser
from redis._parsers.socket import SocketBuffer

from fencepost.engines.redis import resp, script
from fencepost.engines.redis.cluster.slot import moved_to, ranges_of
from fencepost.engines.redis.record import snapshot_of
from fencepost.engines.redis.redlock import script as node_script
from fencepost.engines.redis.redlock.tally import Tally
from fencepost.engines.redis.resp import DEEPEST, Malformed, Parser, ReplyError, bulk
from fencepost.engines.redis.script import Script
from fencepost.engines.redis.waiter import news_of

pytestmark = pytest.mark.unit

SCRIPTS = [each for module in (script, node_script) for each in vars(module).values() if isinstance(each, Script)]

# Replies

texts = st.binary(max_size=12) | st.sampled_from([b"\r\n", b"a\r\n$1", b"message", b""])
plain = st.none() | st.integers(-(2**63), 2**63 - 1) | texts | st.builds(ReplyError, st.sampled_from(["ERR no", "X"]))
replies = st.recursive(plain, lambda inner: st.lists(inner, max_size=4), max_leaves=12)


def encoded(reply: Any) -> bytes:
    if reply is None:
        return b"$-1\r\n"
    if isinstance(reply, int):
        return b":%d\r\n" % reply
    if isinstance(reply, bytes):
        return bulk(reply)
    if isinstance(reply, ReplyError):
        return b"-%b\r\n" % str(reply).encode()
    return b"*%d\r\n%b" % (len(reply), b"".join(map(encoded, reply)))


@st.composite
def harmed(draw: st.DrawFn) -> bytes:
    """Replies of which some bytes are others, are missing, or are there twice."""
    data = bytearray(b"".join(map(encoded, draw(st.lists(replies, min_size=1, max_size=3)))))
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(data)))
        end = draw(st.integers(at, min(len(data), at + 6)))
        data[at:end] = draw(
            st.binary(max_size=3) | st.sampled_from([b"-", b"*", b"$", b"\r\n", b"99", b":", b"_", b" "])
        )
    return bytes(data) or b"\n"


def read(data: bytes, size: int) -> list[Any]:
    """Everything that is whole, and 'malformed' where that is so."""
    parser = Parser()
    found: list[Any] = []
    try:
        for at in range(0, len(data), size):
            found += parser.feed(data[at : at + size])
    except Malformed:
        found.append("malformed")
    return found


class Said:
    """A socket that has said all this, and nothing more."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def recv(self, size: int) -> bytes:
        data, self._data = self._data[:size], self._data[size:]
        return data


def read_by_redis_py(data: bytes) -> list[Any]:
    parser = _RESP2Parser(65536)  # type: ignore[no-untyped-call]
    parser._buffer = SocketBuffer(Said(data), 65536, None)  # type: ignore[arg-type]
    found = []
    try:
        while True:
            found.append(parser.read_response(disable_decoding=True))
    except Exception:
        # No more, or nothing that it can read.
        return found


def comparable(reply: Any) -> Any:
    if isinstance(reply, Exception):
        return "error"
    return [comparable(each) for each in reply] if isinstance(reply, list) else reply


@given(sent=st.lists(replies, min_size=1, max_size=4), size=st.integers(1, 200))
def test_whatever_redis_py_reads_is_read_alike(sent: list[Any], size: int) -> None:
    data = b"".join(map(encoded, sent))
    assert comparable(read(data, size)) == comparable(read_by_redis_py(data)) == comparable(sent)


@given(data=harmed(), size=st.integers(1, 40))
def test_harmed_replies_are_read_as_redis_py_reads_them_or_malformed(data: bytes, size: int) -> None:
    whole, found = comparable(read(data, len(data))), comparable(read(data, size))
    assert ("malformed" in whole) == ("malformed" in found)
    # What was said together with something malformed is not taken.
    whole, found = ([reply for reply in each if reply != "malformed"] for each in (whole, found))
    assert found[: len(whole)] == whole
    assert comparable(read_by_redis_py(data))[: len(found)] == found


@given(data=st.binary(min_size=1, max_size=60))
def test_any_bytes_are_replies_or_malformed(data: bytes) -> None:
    read(data, len(data))
    read(data, 1)


# Bounds


@pytest.mark.parametrize(
    "said",
    [
        b"$1000000000000\r\n",
        b"$67108865\r\n",
        b"*1000000000\r\n",
        b"*1048577\r\n",
        b"*2\r\n$40000000\r\n" + bytes(40_000_000) + b"\r\n$40000000\r\n",
        b"*1\r\n" * (DEEPEST + 1),
        b"*1\r\n" * 20_000,
        b":" + b"1" * 5000 + b"\r\n",
        b":\r\n",
        b"$-2\r\n",
        b"*-2\r\n",
        b"$1\r\nabc",
        b"+" + b"a" * 70_000,
        b"HTTP/1.1 400 Bad Request",
        b"\n",
    ],
    ids=lambda said: repr(said[:20]),
)
def test_what_is_too_much_or_makes_no_sense_is_malformed_at_once(said: bytes) -> None:
    with pytest.raises(Malformed):
        Parser().feed(said)


def test_a_list_that_never_ends_is_left_when_it_has_taken_what_it_may(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resp, "LONGEST", 1_000_000)
    parser = Parser()
    parser.feed(b"*10000\r\n")
    with pytest.raises(Malformed):
        for _ in range(1_000_000 // resp.ITEM // 1000 + 1):
            parser.feed(b"*1000\r\n" + b"*0\r\n" * 1000)


def test_many_replies_in_turn_may_take_more_than_one() -> None:
    parser = Parser()
    for _ in range(5):
        # In pieces, so that none is read at a glance.
        assert [*parser.feed(b"*1\r\n$20000000\r\n"), *parser.feed(bytes(20_000_000) + b"\r\n")] == [
            [bytes(20_000_000)]
        ]


def test_a_long_text_in_many_pieces_is_not_looked_at_for_each(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = []
    whole = Parser._next

    def counted(parser: Parser) -> Any:
        looks.append(1)
        return whole(parser)

    monkeypatch.setattr(Parser, "_next", counted)
    parser, text = Parser(), bytes(4_000_000)
    data = bulk(text)
    assert [reply for at in range(0, len(data), 1000) for reply in parser.feed(data[at : at + 1000])] == [text]
    assert len(looks) <= 4


# What the scripts answer


@given(each=st.sampled_from(SCRIPTS), reply=replies)
def test_any_reply_fits_a_script_or_not(each: Script, reply: Any) -> None:
    assert each.fits(reply) in (True, False)


numbers = st.integers(-(10**19), 10**19)
digits = st.integers(0, 10**19 - 1).map(lambda number: b"%d" % number)
words = st.sampled_from(
    [b"x", b"s", b"c1,2", b"c", b"c1", b"m", b"", b"9" * 5000, b"-1", b"0", b"h", b"\xff", b"inf", b"nan"]
)
records = st.builds(
    lambda start, parts: start + b":".join(parts),
    st.sampled_from([b"", b"fp:", b"#", b"fp:*:"]),
    st.lists(
        words | digits | st.sampled_from([b'[["n","x","1:a"]]', b"[" * 50_000, b'[["n","x","\\ud800"]]']), max_size=7
    ),
)
entries = st.sampled_from(
    [
        b"",
        b"not json",
        b"[" * 50_000,
        b"[1,2,3,4,5,6]",
        b'["n",NaN,"h","fp:h:1:5:1:a","b",1e999]',
        b"\xff",
        b"{}",
        b'["n","5","h","fp:h:1:5:1:a","b","1%b"]' % (b"0" * 400),
        b'["n","5","h","fp:h:1:5:1:a","by","17"]',
    ]
)


@st.composite
def sights(draw: st.DrawFn) -> list[Any]:
    holders = [part for _ in range(draw(st.integers(0, 2))) for part in (draw(records), draw(numbers))]
    waiters = [
        part for _ in range(draw(st.integers(0, 2))) for part in (draw(records), draw(words | digits), draw(numbers))
    ]
    return [draw(digits), holders, waiters, draw(st.lists(entries, max_size=2))]


@given(reply=sights())
def test_whatever_strangers_wrote_is_seen_as_something(reply: list[Any]) -> None:
    assert script.LOOK.fits(reply)
    snapshot = snapshot_of("n", b"n", reply)
    assert len(snapshot.holders) == len(reply[1]) // 2
    assert len(snapshot.waiters) == len(reply[2]) // 3
    repr(snapshot)
    Tally("n", b"n", [reply, reply, None], 2).snapshot()


@given(message=st.binary(max_size=30) | st.lists(words | digits, max_size=5).map(b":".join))
def test_any_message_is_news_or_none(message: bytes) -> None:
    news = news_of(message)
    assert news is None or all(0 < token < 2**63 for token in news.tokens)
    assert news is None or news.granted(b"another") == ()


ports: Iterable[int] = (0, 6379, 65536, 2**63 - 1)
owners = st.lists(st.sampled_from([b"host", b"\xff", b"", None, b"?", *ports]), max_size=3)


@given(
    reply=replies | st.lists(st.tuples(st.integers(-2, 16400), st.integers(-2, 16400), owners).map(list), max_size=5)
)
def test_any_answer_is_a_map_of_slots_or_none(reply: Any) -> None:
    for slots, _, port in ranges_of(reply) or []:
        assert 0 <= slots.start < slots.stop <= 16384
        assert 0 < port < 65536


@pytest.mark.parametrize("said", ["MOVED", "MOVED 1", "MOVED 1 x", "MOVED 1 h:", "MOVED 1 h:70000", "MOVED 1 h:٣"])
def test_a_redirection_to_nowhere_is_none(said: str) -> None:
    assert moved_to(ReplyError(said)) is None
    assert moved_to(ReplyError("MOVED 3999 ::1:6381")) == ("::1", 6381)
