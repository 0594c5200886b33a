"""The Huffman code of HTTP/2 headers (RFC 7541, appendix B).

The code is canonical: within one length, codes follow the order of the characters. So the lengths are the whole table.
"""

from fencepost.core.malformed import Malformed

BY_LENGTH = {
    5: b"012aceiost",
    6: b" %-./3456789=A_bdfghlmnpru",
    7: b":BCDEFGHIJKLMNOPQRSTUVWYjkqvwxyz",
    8: b"&*,;XZ",
    10: b'!"()?',
    11: b"'+|",
    12: b"#>",
    13: b"\0$@[]~",
    14: b"^}",
    15: b"<`{",
    19: b"\\\xc3\xd0",
    20: bytes.fromhex("808283a2b8c2e0e2"),
    21: bytes.fromhex("99a1a7acb0b1b3d1d8d9e3e5e6"),
    22: bytes.fromhex("8184858688929a9ca0a3a4a9aaadb2b5b9babbbdbec4c6e4e8e9"),
    23: bytes.fromhex("0187898a8b8c8d8f93959697989b9d9ea5a6a8aeafb4b6b7bcbfc5e7ef"),
    24: bytes.fromhex("098e9091949fabced7e1eced"),
    25: bytes.fromhex("c7cfeaeb"),
    26: bytes.fromhex("c0c1c8c9cacdd2d5dadbeef0f2f3ff"),
    27: bytes.fromhex("cbccd3d4d6dddedff1f4f5f6f7f8fafbfcfdfe"),
    28: bytes.fromhex("020304050607080b0c0e0f1011121314151718191a1b1c1d1e1f7fdcf9"),
    30: bytes.fromhex("0a0d16"),
}
LONGEST = 30
# No longer than that, and of ones alone, is what fills the last byte.
LONGEST_PADDING = 7


def _codes() -> dict[tuple[int, int], int]:
    found = {}
    code = length = 0
    for size, characters in BY_LENGTH.items():
        code <<= size - length
        length = size
        for character in characters:
            found[size, code] = character
            code += 1
    return found


CODES = _codes()


def decode(data: bytes) -> bytes:
    """The text. Raises `Malformed` if this is none."""
    found = bytearray()
    code = length = 0
    for byte in data:
        for shift in range(7, -1, -1):
            code = code << 1 | byte >> shift & 1
            length += 1
            character = CODES.get((length, code))
            if character is not None:
                found.append(character)
                code = length = 0
            elif length >= LONGEST:
                raise Malformed("a text in a header with its end in the middle")
    if length > LONGEST_PADDING or code != (1 << length) - 1:
        raise Malformed("a text in a header that ends in the middle of a character")
    return bytes(found)
