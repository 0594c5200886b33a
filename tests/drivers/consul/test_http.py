"""Answers of an agent, and what only looks like one: compared with h11, without a server."""

import random

import h11
import pytest

from fencepost.core.malformed import Malformed
from fencepost.drivers.consul import http
from fencepost.drivers.consul.http import Parser, Response

pytestmark = pytest.mark.unit

ROUNDS = 3_000
HEADS = [
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nX-Consul-Index: 7\r\nDate: now\r\n",
    b"HTTP/1.1 409 Conflict\r\nDate: now\r\n",
    b"HTTP/1.0 500 Internal Server Error\r\n",
    b"HTTP/1.1 404 Not Found\r\nConnection: close\r\n",
]


def answer(dice: random.Random) -> bytes:
    """One that an agent, or a proxy before it, could send."""
    body = dice.randbytes(dice.choice([0, 1, 5, 300]))
    if dice.random() < 0.6:
        return dice.choice(HEADS) + b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
    head = dice.choice(HEADS[:2]) + b"Transfer-Encoding: chunked\r\n\r\n"
    chunks = [body[at : at + 100] for at in range(0, len(body), 100)]
    return head + b"".join(b"%x\r\n%b\r\n" % (len(each), each) for each in chunks) + b"0\r\n\r\n"


def mutated(data: bytes, dice: random.Random) -> bytes:
    for _ in range(dice.randint(1, 4)):
        at = dice.randrange(len(data) + 1)
        junk = dice.choice([b"", b"\r\n", b":", b"\0", b"-6", b"9" * 20, b"chunked", b"Content-Length: 3\r\n", b"\xff"])
        data = data[:at] + junk + data[at + dice.choice([0, 1, 5]) :]
    return data


def parsed(data: bytes, dice: random.Random) -> Response | None:
    """In pieces of any size."""
    parser, found = Parser(), None
    while data:
        size = dice.choice([1, 10, 1000])
        found = parser.feed(data[:size])
        data = data[size:]
    return found


def by_h11(data: bytes) -> tuple[int, bytes]:
    connection = h11.Connection(h11.CLIENT)
    connection.send(h11.Request(method="GET", target="/", headers=[("Host", "a")]))
    connection.send(h11.EndOfMessage())
    connection.receive_data(data)
    response, body = connection.next_event(), b""
    assert isinstance(response, h11.Response)
    while isinstance(event := connection.next_event(), h11.Data):
        body += bytes(event.data)
    assert isinstance(event, h11.EndOfMessage)
    return response.status_code, body


def test_answers_are_read_as_h11_reads_them(dice: random.Random) -> None:
    for _ in range(ROUNDS // 10):
        data = answer(dice)
        found = parsed(data, dice)
        assert found is not None
        assert (found.status, found.body) == by_h11(data)
        assert Parser().feed(data) == found


def test_what_is_no_answer_is_malformed_and_what_is_read_h11_reads_in_the_same_way(dice: random.Random) -> None:
    met = {"read": 0, "unread": 0}
    for _ in range(ROUNDS):
        data = mutated(answer(dice), dice)
        try:
            found = parsed(data, dice)
        except Malformed:
            met["unread"] += 1
            continue
        if found is not None:
            met["read"] += 1
            try:
                expected = by_h11(data)
            except (h11.RemoteProtocolError, AssertionError):
                # It is stricter in what stands in a header.
                continue
            assert (found.status, found.body) == expected, data
    assert min(met.values()) > 50, met


@pytest.mark.parametrize(
    "data",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: +5\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1_0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 5\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 999999999999\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n\r\nno length",
        b"HTTP/1.1 +20 OK\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhello\r\n0\r\n\r\n",
        b"SSH-2.0-OpenSSH_9",
    ],
)
def test_an_answer_of_no_length_or_of_several_is_malformed(data: bytes) -> None:
    with pytest.raises(Malformed):
        Parser().feed(data)


@pytest.mark.parametrize(
    ("head", "more"),
    [
        (b"HTTP/1.1 200 OK\r\n", b"X: y\r\n" * 100),
        (b"HTTP/1.1 200 OK\r\nX: ", b"y" * 1000),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\na\r\n" * 1000),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;", b"y" * 1000),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", b"Trailer: y\r\n" * 100),
    ],
)
def test_an_answer_without_an_end_is_left_before_it_fills_the_memory(
    head: bytes, more: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "LARGEST", 100_000)
    parser, taken = Parser(), 0
    parser.feed(head)
    with pytest.raises(Malformed):
        while taken < 10_000_000:
            parser.feed(more)
            taken += len(more)


def test_a_long_answer_in_many_pieces_is_not_copied_with_each_of_them() -> None:
    parser = Parser()
    parser.feed(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
    kept = parser._data
    for _ in range(999):
        assert parser.feed(b"x" * 1000) is None
    assert parser._data is kept
    found = parser.feed(b"x" * 1000)
    assert found is not None
    assert len(found.body) == 1_000_000
