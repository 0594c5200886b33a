"""The protocol of Redis, as much of it as a lock needs: commands out, replies in."""

import re
from collections.abc import Iterable
from typing import Any, TypeAlias

Reply: TypeAlias = Any
MESSAGE = b"*3\r\n$7\r\nmessage\r\n"
# How much memory one reply may take, in bytes, with so many for each item of a list: what is more is not read.
LONGEST = 64 * 1024 * 1024
ITEM = 64
# Lists in lists, and a line: an error, a length, a number.
DEEPEST = 16
LONGEST_LINE = 65_536
_PENDING = object()
_LIST = object()
# As servers write numbers, and no other way: what else `int` takes is no reply.
_NUMBER = re.compile(rb"0|-?[1-9][0-9]{0,18}")
_LEAST, _MOST = -(2**63), 2**63 - 1
# The same for nearly all of them: so few digits need no look at their range.
_SHORT = rb":(?:0|-?[1-9][0-9]{0,17})\r\n"
_NUMBERS = re.compile(rb"(?:%b)+" % _SHORT)
# Whether that is one number that came alone, as most replies are: such a one is not worth a parser.
is_lone_number = re.compile(_SHORT).fullmatch


class ReplyError(Exception):
    """The server answered with an error. Handed on as a value: what it means is for the caller to say."""

    @property
    def code(self) -> str:
        return str(self).partition(" ")[0]


class Malformed(ValueError):
    """What came is no reply of a Redis server, or is more than we take."""


def bulk(text: bytes) -> bytes:
    return b"$%d\r\n%b\r\n" % (len(text), text)


def pack(*words: bytes | str | int) -> bytes:
    """One command."""
    return b"*%d\r\n%b" % (len(words), b"".join(map(_bulk, words)))


def _bulk(word: bytes | str | int) -> bytes:
    return bulk(word if isinstance(word, bytes) else str(word).encode())


def message_of(reply: Reply) -> bytes | None:
    """What was published, if that is what came to whoever listens."""
    match reply:
        case [b"message", bytes(_), bytes(text)]:
            return text
    return None


class Parser:
    """Bytes in, whole replies out, whatever the pieces they come in; `Malformed` if they are none. RESP2 only."""

    __slots__ = ("_at", "_left", "_rest", "_wanted", "_within")

    def __init__(self) -> None:
        # What has come of an item that is not complete yet, and how much of it there must be before it can be.
        self._rest = bytearray()
        self._wanted = 0
        self._at = 0
        # The lists that are not complete yet, each with how many items it is to have: nothing is read twice.
        self._within: list[tuple[list[Reply], int]] = []
        # What the reply that has begun may still take.
        self._left = LONGEST

    @property
    def is_midway(self) -> bool:
        """Whether a reply has begun, and is not complete."""
        return bool(self._rest or self._within)

    def feed(self, data: bytes) -> Iterable[Reply]:
        """Every reply that is complete by now."""
        rest = self._rest
        if not rest and not self._within and data[-1] == 10:
            if data[0] == 58 and _NUMBERS.fullmatch(data):
                # By far the most frequent.
                return [int(line[1:]) for line in data.split(b"\r\n")[:-1]]
            lines = data.split(b"\r\n")
            if len(lines) == 8 and data.startswith(MESSAGE):
                # One message that comes alone: whoever waits for it has just woken up, and every line counts.
                channel, text = lines[4], lines[6]
                if lines[3] == b"$%d" % len(channel) and lines[5] == b"$%d" % len(text) and not lines[7]:
                    return [[lines[2], channel, text]]
            replies = _lines(lines)
            if replies is not None:
                return replies
        rest += data
        if len(rest) < self._wanted:
            return ()
        self._wanted = 0
        found: list[Reply] = []
        start = 0
        while start < len(rest):
            self._at = start
            item = self._next()
            if item is _PENDING:
                break
            start = self._at
            if item is not _LIST:
                self._put(item, found)
        del rest[:start]
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
        self._left = LONGEST

    def _next(self) -> Reply:
        rest, at = self._rest, self._at
        end = rest.find(b"\r\n", at, at + LONGEST_LINE)
        if end < 0:
            if len(rest) - at >= LONGEST_LINE or rest[at] not in b":+-$*":
                raise Malformed(f"the reply starts with {bytes(rest[at : at + 10])!r}: is this a Redis server?")
            return _PENDING
        sort, line = rest[at], bytes(rest[at + 1 : end])
        self._at = end + 2
        match sort:
            case 58:
                self._take(ITEM)
                return _number(line)
            case 43:
                self._take(ITEM + len(line))
                return _unbroken(line)
            case 45:
                self._take(ITEM + len(line))
                return ReplyError(_unbroken(line).decode(errors="replace"))
            case 36:
                return self._text(_length(line))
            case 42:
                return self._list(_length(line))
        raise Malformed(f"the reply starts with {bytes(rest[at : at + 1])!r}: is this a Redis server?")

    def _take(self, size: int) -> None:
        if size > self._left:
            raise Malformed(f"a reply is longer than {LONGEST >> 20} MiB")
        self._left -= size

    def _text(self, length: int) -> Reply:
        if length < 0:
            self._take(ITEM)
            return None
        start, end = self._at, self._at + length
        if len(self._rest) < end + 2:
            # Not to wait for what would be too much.
            if length > self._left:
                self._take(length)
            self._wanted = length
            return _PENDING
        if self._rest[end : end + 2] != b"\r\n":
            raise Malformed("a text of the reply has another length than it says: is this a Redis server?")
        self._take(ITEM + length)
        self._at = end + 2
        return bytes(self._rest[start:end])

    def _list(self, length: int) -> Reply:
        self._take(ITEM)
        if length <= 0:
            return None if length < 0 else []
        if len(self._within) >= DEEPEST:
            raise Malformed(f"a reply has lists in lists, more than {DEEPEST} deep")
        if length * ITEM > self._left:
            # Not to wait for what would be too much.
            self._take(length * ITEM)
        self._within.append(([], length))
        return _LIST


def _number(line: bytes) -> int:
    if not _NUMBER.fullmatch(line) or not _LEAST <= int(line) <= _MOST:
        raise Malformed(f"the reply has {line[:20]!r} for a number: is this a Redis server?")
    return int(line)


def _unbroken(line: bytes) -> bytes:
    """The line: half of a line break in it says that it is none."""
    if b"\r" in line or b"\n" in line:
        raise Malformed(f"the reply has half of a line break in {line[:20]!r}: is this a Redis server?")
    return line


def _length(line: bytes) -> int:
    length = _number(line)
    if length < -1:
        raise Malformed(f"the reply has a length of {length}: is this a Redis server?")
    return length


def _lines(lines: list[bytes]) -> list[Reply] | None:
    """Whole replies none of which has a line break inside, as nearly all are; None if these are not such.

    They are no longer than what is read at once, and need no other bound.
    """
    count = len(lines) - 1
    if lines[count]:
        return None
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
                    if line != b"$%d" % len(item) or at > count:
                        return None
            elif sort == 58:
                item = int(line[1:])
                if len(line) > 19 or line != b":%d" % item:
                    return None
            elif sort == 42 and line not in (b"*0", b"*-1"):
                if len(within) >= DEEPEST or len(line) > 7 or not line[1:].isdigit() or line[1] == 48:
                    return None
                item = []
                into.append(item)
                within.append((into, wanted - 1))
                into, wanted = item, int(line[1:])
                continue
            elif sort == 42:
                item = None if line == b"*-1" else []
            elif sort == 43:
                item = _unbroken(line[1:])
            elif sort == 45:
                item = ReplyError(_unbroken(line[1:]).decode(errors="replace"))
            else:
                return None
            into.append(item)
            wanted -= 1
            while wanted == 0:
                into, wanted = within.pop()
    except (IndexError, ValueError):
        # A line without anything, none where there should be one, or what is wrong in it: then it is told the long way.
        return None
    return None if within else found
