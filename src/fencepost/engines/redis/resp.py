"""The protocol of Redis, as much of it as a lock needs: commands out, replies in."""

from collections.abc import Iterable
from typing import Any, TypeAlias

Reply: TypeAlias = Any
MESSAGE = b"*3\r\n$7\r\nmessage\r\n"
_PENDING = object()
_LIST = object()


class ReplyError(Exception):
    """The server answered with an error. Handed on as a value: what it means is for the caller to say."""

    @property
    def code(self) -> str:
        return str(self).partition(" ")[0]


def bulk(text: bytes) -> bytes:
    return b"$%d\r\n%b\r\n" % (len(text), text)


def pack(*words: bytes | str | int) -> bytes:
    """One command."""
    return b"*%d\r\n%b" % (len(words), b"".join(map(_bulk, words)))


def _bulk(word: bytes | str | int) -> bytes:
    return bulk(word if isinstance(word, bytes) else str(word).encode())


class Parser:
    """Bytes in, whole replies out, whatever the pieces they come in. RESP2 only."""

    __slots__ = ("_at", "_rest", "_within")

    def __init__(self) -> None:
        # What has come of an item that is not complete yet.
        self._rest = b""
        self._at = 0
        # The lists that are not complete yet, each with how many items it is to have: nothing is read twice.
        self._within: list[tuple[list[Reply], int]] = []

    @property
    def is_midway(self) -> bool:
        """Whether a reply has begun, and is not complete."""
        return bool(self._rest or self._within)

    def feed(self, data: bytes) -> Iterable[Reply]:
        """Every reply that is complete by now."""
        if not self._rest and not self._within:
            if data[0] == 58 and data[-1] == 10 and data.count(b"\n") == data.count(b":"):
                # Numbers only, by far the most frequent. A line of any other sort would have its colon elsewhere.
                try:
                    return [int(line[1:]) for line in data.split(b"\r\n")[:-1]]
                except ValueError:
                    pass
            elif data[-1] == 10:
                lines = data.split(b"\r\n")
                if len(lines) == 8 and data.startswith(MESSAGE):
                    # One message that comes alone: whoever waits for it has just woken up, and every line counts.
                    channel, text = lines[4], lines[6]
                    if lines[3] == b"$%d" % len(channel) and lines[5] == b"$%d" % len(text):
                        return [[lines[2], channel, text]]
                replies = _lines(lines)
                if replies is not None:
                    return replies
        self._rest += data
        found: list[Reply] = []
        start = 0
        while start < len(self._rest):
            self._at = start
            item = self._next()
            if item is _PENDING:
                break
            start = self._at
            if item is not _LIST:
                self._put(item, found)
        self._rest = self._rest[start:]
        return found

    def _put(self, item: Reply, found: list[Reply]) -> None:
        """Into the innermost list, and that into the one around it once it is complete."""
        while self._within:
            items, wanted = self._within[-1]
            items.append(item)
            if len(items) < wanted:
                return
            self._within.pop()
            item = items
        found.append(item)

    def _next(self) -> Reply:
        data, at = self._rest, self._at
        end = data.find(b"\r\n", at)
        if end < 0:
            return _PENDING
        sort, line = data[at], data[at + 1 : end]
        self._at = end + 2
        match sort:
            case 58:
                return int(line)
            case 43:
                return line
            case 45:
                return ReplyError(line.decode(errors="replace"))
            case 36:
                return self._text(int(line))
            case 42:
                return self._list(int(line))
        raise ValueError(f"the reply starts with {data[at : at + 1]!r}: is this a Redis server?")

    def _text(self, length: int) -> Reply:
        if length < 0:
            return None
        start, end = self._at, self._at + length
        if len(self._rest) < end + 2:
            return _PENDING
        self._at = end + 2
        return self._rest[start:end]

    def _list(self, length: int) -> Reply:
        if length <= 0:
            return None if length < 0 else []
        self._within.append(([], length))
        return _LIST


def _lines(lines: list[bytes]) -> list[Reply] | None:
    """Whole replies none of which has a line break inside, as nearly all are; None if these are not such."""
    count = len(lines) - 1
    found: list[Reply] = []
    # Lists that are not complete yet, each with how many items it still wants.
    within: list[tuple[list[Reply], int]] = []
    into, wanted = found, -1
    at = 0
    try:
        while at < count:
            line = lines[at]
            at += 1
            sort = line[0]
            item: Reply
            if sort == 36:
                item = None
                if line != b"$-1":
                    item = lines[at]
                    at += 1
                    if len(item) != int(line[1:]) or at > count:
                        return None
            elif sort == 58:
                item = int(line[1:])
            elif sort == 42 and line not in (b"*0", b"*-1"):
                item = []
                into.append(item)
                within.append((into, wanted - 1))
                into, wanted = item, int(line[1:])
                continue
            elif sort == 42:
                item = None if line == b"*-1" else []
            elif sort == 43:
                item = line[1:]
            elif sort == 45:
                item = ReplyError(line[1:].decode(errors="replace"))
            else:
                return None
            into.append(item)
            wanted -= 1
            while wanted == 0:
                into, wanted = within.pop()
    except (IndexError, ValueError):
        return None
    return None if within else found
