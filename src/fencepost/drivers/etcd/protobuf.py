"""The encoding of protocol buffers: numbered fields, each a number or bytes."""

from collections.abc import Iterator, Mapping

from fencepost.core.malformed import Malformed

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
LARGEST = (1 << 64) - 1
LARGEST_TAG = (1 << 32) - 1
SMALL = [bytes([number]) for number in range(128)]


def kinds(known: Mapping[int, int]) -> Mapping[int, int]:
    """For `fields`: of which kind each known field is. No message has a field 0, of whatever kind."""
    return {0: -1, **known}


ANY = kinds({})


def varint(value: int) -> bytes:
    if value < 128:
        return SMALL[value]
    found = bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    found.append(value)
    return bytes(found)


def number(field: int, value: int) -> bytes:
    """A field that is an integer, not negative; nothing for zero, which is what a missing one means."""
    return varint(field << 3 | VARINT) + varint(value) if value else b""


def text(field: int, value: bytes) -> bytes:
    """A field that is bytes, text or a message; nothing if empty."""
    return varint(field << 3 | BYTES) + varint(len(value)) + value if value else b""


def message(field: int, value: bytes) -> bytes:
    """A field that is a message, which may be empty and still there."""
    return varint(field << 3 | BYTES) + varint(len(value)) + value


def fields(data: bytes, kinds: Mapping[int, int] = ANY) -> "Iterator[tuple[int, int | bytes]]":
    """What is in a message, field by field. Raises `Malformed` if it is none, or has one of `kinds` as another kind.

    Fields that are not in `kinds` may be of any: newer servers say more.
    """
    place, end = 0, len(data)
    try:
        while place < end:
            tag = data[place]
            place += 1
            if tag > 127:
                tag, place = read_varint(data, place - 1)
                if tag > LARGEST_TAG:
                    raise Malformed("a field of a message whose number is too large")
            kind = tag & 7
            if kinds.get(tag >> 3, kind) != kind:
                raise Malformed(f"field {tag >> 3} of a message is of another kind")
            if kind == BYTES:
                size = data[place]
                place += 1
                if size > 127:
                    size, place = read_varint(data, place - 1)
                if place + size > end:
                    raise Malformed("a message ends in the middle of a field")
                yield tag >> 3, data[place : place + size]
                place += size
            elif kind == VARINT:
                value = data[place]
                place += 1
                if value > 127:
                    value, place = read_varint(data, place - 1)
                yield tag >> 3, value - (1 << 64) if value >> 63 else value
            elif kind in (FIXED64, FIXED32):
                place += 8 if kind == FIXED64 else 4
            else:
                raise Malformed(f"a field of unknown kind {kind}")
        if place > end:
            raise Malformed("a message ends in the middle of a field")
    except IndexError:
        raise Malformed("a message ends in the middle of a field") from None


def read_varint(data: bytes, place: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[place]
        place += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value & LARGEST, place
        shift += 7
        if shift > 63:
            raise Malformed("a number that is too long")
