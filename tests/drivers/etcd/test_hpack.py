"""Header blocks are read as python-hpack reads them, and it reads ours as they were meant."""

import hpack as theirs
import pytest
from hypothesis import strategies as st

from fencepost.core.malformed import Malformed
from fencepost.drivers.etcd import hpack, huffman
from tests.support.course import harmed, tried

# Names and values that servers and proxies use, and any bytes at all.
names = st.sampled_from([b":status", b"content-type", b"grpc-status", b"grpc-message", b"server", b"x-\xc3\xa9"])
values = st.sampled_from([b"200", b"404", b"503", b"0", b"14", b"application/grpc", b"x" * 300]) | st.binary(max_size=8)
fields = st.lists(st.tuples(names, values), max_size=5)
JUNK = [b"\x88", b"\x20", b"\x3f\x01", b"\xbe", b"\x7f\xff", b"\x80", b"\x00\x81", b"\xff" * 6]


def encoded(fields: list[tuple[bytes, bytes]], coded: bool) -> bytes:
    """As a server does that was asked for a table of size 0, and tells so before the first block."""
    encoder = theirs.Encoder()
    encoder.header_table_size = 0
    return encoder.encode(fields, huffman=coded)


def read_by_hpack(block: bytes) -> list[tuple[bytes, bytes]] | None:
    """The fields; None if it is malformed."""
    decoder = theirs.Decoder(max_header_list_size=1 << 20)
    decoder.header_table_size = 0
    # Stricter than we are: a table may have any size for us, as long as nothing is in it.
    decoder.max_allowed_table_size = 1 << 40
    try:
        return [(bytes(name), bytes(value)) for name, value in decoder.decode(block, raw=True)]
    except theirs.HPACKError:
        return None


def looked_at(fields: list[tuple[bytes, bytes]]) -> dict[bytes, bytes]:
    """The last of each. Of those whose name stands in the static table, only the status says something.

    To us, all others have the same name, which is empty.
    """
    nameless = {name for name, _ in theirs.table.HeaderTable.STATIC_TABLE} - {b":status"} | {b""}
    return {name: value for name, value in fields if name not in nameless}


def read(block: bytes) -> dict[bytes, bytes] | None:
    try:
        return looked_at([*hpack.decode(block).items()])
    except Malformed:
        return None


@tried(80, 1500, fields=fields, coded=st.booleans())
def test_what_hpack_writes_is_read_as_it_was_meant(fields: list[tuple[bytes, bytes]], coded: bool) -> None:
    assert read(encoded(fields, coded)) == looked_at(fields)


@tried(
    100,
    2000,
    {"block": b"\x00\x00\x00"},
    block=harmed(st.builds(encoded, fields, st.booleans()), *JUNK) | st.binary(max_size=20),
)
def test_harmed_blocks_are_read_as_hpack_reads_them_or_malformed(block: bytes) -> None:
    found, expected = read(block), read_by_hpack(block)
    if found is not None:
        assert expected is not None, (found, block)
        assert found == looked_at(expected)


headers = st.dictionaries(st.text("abc-", min_size=1, max_size=9), st.text("aж ~", max_size=300), max_size=4)


@tried(40, 1000, headers=headers)
def test_hpack_reads_our_headers_as_they_were_meant(headers: dict[str, str]) -> None:
    meant = [(name.encode(), value.encode()) for name, value in headers.items()]
    assert read_by_hpack(hpack.encode([*headers.items()])) == meant


@pytest.mark.unit
def test_every_byte_has_its_code() -> None:
    coder = theirs.huffman.HuffmanEncoder(
        theirs.huffman_constants.REQUEST_CODES, theirs.huffman_constants.REQUEST_CODES_LENGTH
    )
    for byte in range(256):
        assert huffman.decode(coder.encode(bytes([byte, 97, byte]))) == bytes([byte, 97, byte])
