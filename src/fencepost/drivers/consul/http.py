"""HTTP/1.1 as an agent speaks it: requests as bytes, and the answers to them."""

import re
from typing import NamedTuple

from fencepost.core.malformed import Malformed

# The largest body and the largest head that are taken, in bytes. Whoever announces or sends more is left.
LARGEST = 64 << 20
LARGEST_HEAD = 64 << 10
# Of one chunk: its size, and whatever a proxy says about it.
LARGEST_LINE = 1 << 10
_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,8})[ \t]*(?:;[^\r\n]*)?")
_STATUS = re.compile(rb"HTTP/1\.[01] ([2-9][0-9]{2})(?: [^\r\n]*)?")
_SIZE = re.compile(rb"[0-9]{1,12}")
_NAME = rb"[!#-'*+.0-9A-Z^-z|~-]+"
_is_name = re.compile(_NAME).fullmatch
# An answer as an agent itself writes nearly all of them: in this order, and with nothing behind the length.
_PLAIN = re.compile(
    rb"HTTP/1\.1 ([2-9][0-9]{2}) [^\r\n]*\r\n(?:%b:[^\r\n]*\r\n)*?"
    rb"Date: ([^\r\n]*)\r\nContent-Length: ([0-9]{1,8})\r\n\r\n" % _NAME
)
# What may stand in the head of one that is not so plain, beside its length.
_SPECIAL = re.compile(rb"(?i)\n(?:connection|transfer-encoding|content-length|date):.*\ndate:", re.DOTALL)
_INDEX = re.compile(rb"(?i)\nx-consul-index:[ \t]*([0-9]{1,18})[ \t]*\r")
EMPTY = (204, 304)


class Response(NamedTuple):
    status: int
    # The server's own clock, as it writes it.
    date: bytes
    body: bytes
    closing: bool
    # As of when this was so: what a question that waits for news goes on from. 0 where the agent does not say.
    as_of: int = 0


class Parser:
    """Takes what comes from a socket, and gives the answer once it is complete. One answer at a time."""

    __slots__ = ("_at", "_body", "_chunk", "_data", "_head", "_length")

    def __init__(self) -> None:
        self._reset()

    def _reset(self) -> None:
        # What was not taken apart yet, from `_at` on: grown and cut in place, as an answer may come in many pieces.
        self._data = bytearray()
        self._at = 0
        self._head: _Head | None = None
        self._body = bytearray()
        # How much of the body there is, and what is missing of the chunk that is being read.
        self._length = 0
        self._chunk: int | None = None

    def feed(self, data: bytes) -> Response | None:
        if not self._data and self._head is None:
            plain = _PLAIN.match(data)
            if plain is not None:
                start = plain.end()
                special = _SPECIAL.search(plain[0]) or int(plain[1]) in EMPTY
                if len(data) == start + int(plain[3]) and not special:
                    return Response(int(plain[1]), plain[2].strip(b" \t"), data[start:], False, _index(plain[0]))
        self._data += data
        if self._head is None and not self._read_head():
            return None
        head = self._head
        assert head is not None
        if not (self._read_whole(head.length) if head.length is not None else self._read_chunks()):
            return None
        if self._at != len(self._data):
            raise Malformed("more than the answer came")
        response = Response(head.status, head.date, bytes(self._body), head.closing, head.as_of)
        self._reset()
        return response

    def _read_head(self) -> bool:
        # Not searched again from its beginning, however small the pieces are.
        end = self._data.find(b"\r\n\r\n", max(0, self._at - 3))
        if (len(self._data) if end < 0 else end) > LARGEST_HEAD:
            raise Malformed("a head without an end")
        if end < 0:
            self._at = len(self._data)
            if not b"HTTP/1.".startswith(self._data[:7]):
                raise Malformed("this is no HTTP")
            return False
        self._head = _read(bytes(self._data[:end]))
        self._at = end + 4
        return True

    def _read_whole(self, length: int) -> bool:
        if len(self._data) - self._at < length:
            return False
        self._body = self._data[self._at : self._at + length]
        self._at += length
        return True

    def _read_chunks(self) -> bool:
        data = self._data
        while True:
            if self._chunk is None:
                end = data.find(b"\r\n", self._at, self._at + LARGEST_LINE)
                if end < 0:
                    if len(data) - self._at >= LARGEST_LINE:
                        raise Malformed("a chunk without a size came")
                    break
                found = _CHUNK.fullmatch(data, self._at, end)
                if found is None:
                    raise Malformed("a chunk without a size came")
                self._chunk = int(found[1], 16)
                self._length += self._chunk
                if self._length > LARGEST:
                    raise Malformed("the answer is too large")
                self._at = end + 2
            stop = self._at + self._chunk
            if len(data) < stop + 2:
                break
            if data[stop : stop + 2] != b"\r\n":
                raise Malformed("a chunk that is longer than it says")
            if not self._chunk:
                self._at = stop + 2
                return True
            self._body += data[self._at : stop]
            self._at, self._chunk = stop + 2, None
        # What was read is not kept twice.
        del data[: self._at]
        self._at = 0
        return False


class _Head(NamedTuple):
    status: int
    date: bytes
    closing: bool
    # None: the body comes in chunks.
    length: int | None
    as_of: int


def _index(head: bytes) -> int:
    found = _INDEX.search(head)
    return 0 if found is None else int(found[1])


def _read(head: bytes) -> _Head:
    first, *lines = head.split(b"\r\n")
    status = _STATUS.fullmatch(first)
    if status is None:
        raise Malformed("this is no HTTP")
    fields: dict[bytes, bytes] = {}
    closing = first.startswith(b"HTTP/1.0")
    for line in lines:
        name, colon, value = line.partition(b":")
        name, value = name.lower(), value.strip(b" \t")
        if not colon or not _is_name(name) or b"\n" in line or b"\r" in line:
            raise Malformed("a line in a head that says nothing")
        if fields.setdefault(name, value) != value and name in (b"content-length", b"transfer-encoding"):
            raise Malformed("an answer of two lengths")
        if name == b"connection":
            closing = closing or b"close" in [each.strip(b" \t") for each in value.lower().split(b",")]
    code = int(status[1])
    return _Head(code, fields.get(b"date", b""), closing, 0 if code in EMPTY else _length(fields), _index(head + b"\r"))


def _length(fields: dict[bytes, bytes]) -> int | None:
    length, coding = fields.get(b"content-length"), fields.get(b"transfer-encoding")
    if coding is not None:
        if coding.lower() != b"chunked" or length is not None:
            raise Malformed("an answer of two lengths, or in a coding that nobody asked for")
        return None
    if length is None:
        raise Malformed("an answer without a length")
    if not _SIZE.fullmatch(length) or int(length) > LARGEST:
        raise Malformed("the answer is too large")
    return int(length)
