"""The Huffman code of HTTP/2 headers (RFC 7541, appendix B), as far as text needs it.

The code is canonical: within one length, codes follow the order of the characters. So the lengths are the whole table.
"""

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
    19: b"\\",
}
LONGEST = 30


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
    """The text. What no header of gRPC has, such as a control character, ends it."""
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
            elif length > LONGEST:
                return bytes(found)
    return bytes(found)
