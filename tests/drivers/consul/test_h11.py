"""Our HTTP/1.1 beside h11's: it reads our requests as they were meant, and we read answers as it does."""

import json
from typing import Any
from urllib.parse import unquote

import h11
import pytest
from hypothesis import strategies as st

from fencepost.core.malformed import Malformed
from fencepost.core.url import parse_url
from fencepost.drivers.consul.http import Parser, Response
from fencepost.engines.consul._sync.store import Store
from fencepost.engines.consul.address import locate
from fencepost.fences.consul.agent import Agent
from tests.support.course import cut, harmed, sizes, tried

# Answers

DATE = (b"Date", b"Thu, 19 Nov 2026 12:00:00 GMT")
fields = st.lists(
    st.sampled_from(
        [
            DATE,
            (b"date", b"today"),
            (b"Content-Type", b"application/json"),
            (b"X-Consul-Index", b"7"),
            (b"Vary", b"Accept-Encoding"),
            (b"Connection", b"close"),
            (b"connection", b"Keep-Alive"),
            (b"Connection", b"TE, Close"),
            (b"X-Empty", b""),
        ]
    ),
    max_size=4,
)
statuses = st.sampled_from([200, 200, 204, 304, 404, 409, 429, 500])
bodies = st.binary(max_size=60) | st.sampled_from([b"true", bytes(3000)])
JUNK = [
    b"\r\n",
    b":",
    b" :",
    b"\t",
    b"-6",
    b"9" * 20,
    b"chunked",
    b"Content-Length: 3\r\n",
    b"Connection: close\r\n",
    b"Date: x\r\n",
]


def said(status: int, fields: list[tuple[bytes, bytes]], body: bytes, chunks: list[int], plain: bool) -> bytes:
    """As h11 says it, in chunks unless there are none."""
    end = h11.Connection(h11.SERVER)
    end.receive_data(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
    end.next_event()
    bodiless = status in (204, 304)
    if plain:
        # As an agent does: the length is the last.
        fields = [each for each in fields if each[0].lower() != b"date"] + [DATE]
    framing = (
        (b"Transfer-Encoding", b"chunked") if chunks else (b"Content-Length", b"%d" % (0 if bodiless else len(body)))
    )
    data = end.send(h11.Response(status_code=status, reason=b"Said", headers=[*fields, framing]))
    for piece in cut(b"" if bodiless else body, chunks or [len(body) or 1]):
        data += end.send(h11.Data(data=piece))
    return data + end.send(h11.EndOfMessage())


answers = st.builds(said, statuses, fields, bodies, st.lists(st.integers(1, 900), max_size=2), st.booleans())


def read_by_h11(data: bytes) -> tuple[int, bytes, bool] | None:
    """Status, body, and whether that is the last of the connection; None if it is none, or not yet whole."""
    end = h11.Connection(h11.CLIENT)
    end.send(h11.Request(method="GET", target="/", headers=[("Host", "a")]))
    end.send(h11.EndOfMessage())
    end.receive_data(data)
    body = b""
    try:
        response = end.next_event()
        if not isinstance(response, h11.Response):
            return None
        while isinstance(event := end.next_event(), h11.Data):
            body += bytes(event.data)
    except h11.RemoteProtocolError:
        return None
    return (
        (response.status_code, body, end.their_state is h11.MUST_CLOSE) if isinstance(event, h11.EndOfMessage) else None
    )


def read(pieces: list[bytes]) -> tuple[Response | None, int]:
    """The first answer, and how many pieces it took; raises if there is none."""
    parser = Parser()
    for number, piece in enumerate(pieces):
        found = parser.feed(piece)
        if found is not None:
            return found, number + 1
    return None, len(pieces)


@tried(80, 1500, data=answers, pieces=sizes)
def test_an_answer_is_read_as_h11_meant_it(data: bytes, pieces: list[int]) -> None:
    found, taken = read(cut(data, pieces))
    assert found is not None
    assert taken == len(cut(data, pieces))
    assert found == read([data])[0]
    assert (found.status, found.body, found.closing) == read_by_h11(data)


HEAD = b"HTTP/1.1 200 OK\r\n"
KNOWN = [
    {"data": HEAD + about + b"Date: a\r\nContent-Length: 2\r\n\r\nab", "pieces": [1]}
    for about in (
        b"Transfer-Encoding : chunked\r\n",
        b"a b: c\r\n",
        b"Date: b\r\n",
        b"Connection: a, close\r\n",
        b"Connection: close\r\nConnection: a\r\n",
        b"\x0b: c\r\n",
    )
]


@tried(80, 1500, *KNOWN, data=harmed(answers, *JUNK), pieces=sizes)
def test_a_harmed_answer_is_read_as_h11_reads_it_or_malformed(data: bytes, pieces: list[int]) -> None:
    parts = cut(data, pieces)
    try:
        found, taken = read(parts)
    except Malformed:
        with pytest.raises(Malformed):
            read([data])
        return
    if found is None:
        assert not data or read([data])[0] is None
        return
    if taken < len(parts):
        # More came than the answer: malformed, unless it comes later, to the next request.
        return
    try:
        assert read([data])[0] == found
    except Malformed:
        return
    expected = read_by_h11(data)
    # Laxer: a value of a header may have any characters for us.
    assert expected is None or (found.status, found.body, found.closing) == expected


# Requests


class Asked:
    """Instead of connections: what was asked, as h11 reads it."""

    host = "an agent"

    def __init__(self) -> None:
        self.target, self.headers, self.body = "", dict[bytes, bytes](), b""

    def call(self, request: bytes) -> Response:
        end = h11.Connection(h11.SERVER)
        end.receive_data(request)
        asked = end.next_event()
        assert isinstance(asked, h11.Request)
        self.target, self.headers, self.body = asked.target.decode(), dict(asked.headers), b""
        while isinstance(event := end.next_event(), h11.Data):
            self.body += bytes(event.data)
        assert isinstance(event, h11.EndOfMessage)
        assert end.trailing_data == (b"", False)
        return Response(200, b"", b"[]" if asked.method == b"GET" else b'{"Results":[]}', False)

    # As a connection of the fence has it.

    def begin(self, patience: float) -> None:
        pass

    def send(self, request: bytes) -> None:
        self.answer = self.call(request)

    def read(self) -> Response:
        return self.answer


URL = "consul://:secret@[::1]:8500?dc=a%20b%26c"
texts = st.text('aж€ /?#%&+\r\n"\\:.', max_size=12)


@tried(40, 1500, text=texts)
def test_h11_reads_what_we_ask_as_it_was_meant(text: str) -> None:
    store, asked = Store(locate(parse_url(URL)), 1.0), Asked()
    store._link = asked  # type: ignore[assignment]
    store.list(text)
    path, _, query = asked.target.partition("?")
    assert (unquote(path), query) == (f"/v1/kv/{text}", "recurse&dc=a%20b%26c")
    operations: list[dict[str, Any]] = [{"KV": {"Verb": "delete", "Key": text}}]
    store.transact(operations)
    assert json.loads(asked.body) == operations
    assert (asked.headers[b"host"], asked.headers[b"x-consul-token"]) == (b"[::1]:8500", b"secret")
    agent = Agent("http://[::1]", token="secret", context=None, timeout=1.0)
    agent._take = lambda: asked  # type: ignore[method-assign,assignment,return-value]
    agent.transact([operations[0]["KV"]])
    agent._free.clear()
    assert json.loads(asked.body) == operations
    assert (asked.headers[b"host"], asked.headers[b"x-consul-token"]) == (b"[::1]:8500", b"secret")
