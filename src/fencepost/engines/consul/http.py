"""HTTP/1.1 as an agent speaks it: requests as bytes, and the answers to them."""

import re
from typing import NamedTuple

# An answer as an agent itself writes nearly all of them: in this order, and with nothing behind the length.
LARGEST = 64 << 20
_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,8})[ \t]*(?:;.*)?")
_PLAIN = re.compile(rb"HTTP/1\.1 (\d{3}) [^\r]*\r\n(?:[^\r]+\r\n)*?Date: ([^\r]*)\r\nContent-Length: (\d+)\r\n\r\n")


class Response(NamedTuple):
    status: int
    # The server's own clock, as it writes it.
    date: bytes
    body: bytes
    closing: bool


class Malformed(ValueError):
    """What came is no HTTP answer, or none that was asked for."""


class Parser:
    """Takes what comes from a socket, and gives the answer once it is complete. One answer at a time."""

    __slots__ = ("_body_at", "_data", "_head", "_length")

    def __init__(self) -> None:
        self._data = b""
        self._head = b""
        self._body_at = 0
        # None: the body comes in chunks.
        self._length: int | None = 0

    def feed(self, data: bytes) -> Response | None:
        if not self._data:
            plain = _PLAIN.match(data)
            if plain is not None:
                start = plain.end()
                if len(data) == start + int(plain[3]) and b"connection: " not in plain[0].lower():
                    return Response(int(plain[1]), plain[2], data[start:], False)
        self._data = data = self._data + data if self._data else data
        if len(data) > LARGEST:
            raise Malformed("the answer is too large")
        if not self._body_at and not self._parse_head(data):
            return None
        if self._length is None:
            body = _unchunk(data, self._body_at)
            if body is None:
                return None
        else:
            missing = self._body_at + self._length - len(data)
            if missing > 0:
                return None
            if missing < 0:
                raise Malformed("more than the answer came")
            body = data[self._body_at :]
        head = self._head
        response = Response(int(head[9:12]), _field(head, b"Date"), body, b"connection: close" in head.lower())
        self._data, self._body_at = b"", 0
        return response

    def _parse_head(self, data: bytes) -> bool:
        end = data.find(b"\r\n\r\n")
        if end < 0:
            return False
        head = self._head = data[: end + 2]
        if head[:7] != b"HTTP/1.":
            raise Malformed("this is no HTTP")
        self._body_at = end + 4
        length = _field(head, b"Content-Length")
        chunked = not length and b"transfer-encoding: chunked" in head.lower()
        self._length = None if chunked else int(length or 0)
        return True


def _field(head: bytes, name: bytes) -> bytes:
    """As an agent writes it; a proxy before it may write all in small letters."""
    start = head.find(b"\r\n%b: " % name)
    if start < 0:
        start = head.lower().find(b"\r\n%b: " % name.lower())
        if start < 0:
            return b""
    start += len(name) + 4
    return head[start : head.find(b"\r\n", start)]


def _unchunk(data: bytes, at: int) -> bytes | None:
    """The body behind `at`, or None if not all of it has come."""
    parts: list[bytes] = []
    while True:
        end = data.find(b"\r\n", at)
        if end < 0:
            return None
        found = _CHUNK.fullmatch(data, at, end)
        if found is None:
            raise Malformed("a chunk without a size came")
        size = int(found[1], 16)
        start = end + 2
        at = start + size + 2
        if len(data) < at:
            return None
        if size == 0:
            return b"".join(parts)
        parts.append(data[start : start + size])
