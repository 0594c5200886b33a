"""Header blocks of HTTP/2 (RFC 7541), without the dynamic table: we ask the server for a table of size 0."""

from fencepost.core.malformed import Malformed
from fencepost.drivers.etcd import huffman

# Of the 61 entries of the static table, those that say something here.
STATUS = {8: b"200", 9: b"204", 10: b"206", 11: b"304", 12: b"400", 13: b"404", 14: b"500"}
STATIC_ENTRIES = 61
# Before a block: the table has size 0 from here on.
NO_TABLE = b"\x20"
# No size or index that makes sense needs more bits; without an end, one number could be as long as all that is sent.
LONGEST_SHIFT = 28


def encode(headers: list[tuple[str, str]]) -> bytes:
    """A block in which every header stands in full."""
    found = bytearray()
    for name, value in headers:
        found += b"\x00" + _string(name.encode()) + _string(value.encode())
    return bytes(found)


def decode(block: bytes) -> dict[bytes, bytes]:
    """The headers of a block. Names from the static table are left out, `:status` aside."""
    found: dict[bytes, bytes] = {}
    place = 0
    try:
        # How large a table is that nobody uses says nothing. It stands before all else.
        while block[place : place + 1] and block[place] & 0xE0 == 0x20:
            _, place = _integer(block, place, 5)
        while place < len(block):
            first = block[place]
            if first & 0x80:
                index, place = _integer(block, place, 7)
                if index in STATUS:
                    found[b":status"] = STATUS[index]
                elif not 0 < index <= STATIC_ENTRIES:
                    raise Malformed("a header from a table that was not agreed on")
            elif first & 0xE0 == 0x20:
                raise Malformed("a table that changes its size in the middle of a header block")
            else:
                index, place = _integer(block, place, 6 if first & 0x40 else 4)
                if index > STATIC_ENTRIES:
                    raise Malformed("a header from a table that was not agreed on")
                if index:
                    name = b":status" if index in STATUS else b""
                else:
                    name, place = _text(block, place)
                found[name], place = _text(block, place)
    except IndexError:
        raise Malformed("a header block that ends too early") from None
    return found


def _string(value: bytes) -> bytes:
    size = len(value)
    if size < 127:
        return bytes([size]) + value
    head, size = bytearray([127]), size - 127
    while size > 127:
        head.append(size & 127 | 128)
        size >>= 7
    return bytes(head) + bytes([size]) + value


def _integer(block: bytes, place: int, bits: int) -> tuple[int, int]:
    most = (1 << bits) - 1
    value = block[place] & most
    place += 1
    shift = 0
    if value == most:
        while True:
            byte = block[place]
            place += 1
            value += (byte & 127) << shift
            shift += 7
            if byte < 128:
                break
            if shift > LONGEST_SHIFT:
                raise Malformed("a number in a header that is too long")
    return value, place


def _text(block: bytes, place: int) -> tuple[bytes, int]:
    coded = block[place] & 0x80
    size, place = _integer(block, place, 7)
    value = block[place : place + size]
    if len(value) < size:
        raise IndexError
    return (huffman.decode(value) if coded else value), place + size
