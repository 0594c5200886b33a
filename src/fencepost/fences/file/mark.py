"""How marks are written down: one line with a checksum, so that damage is noticed and never believed.

Such as `fencepost-marks 1 5f0c3a61 {"reports/nightly": 41}`.
"""

import json
from collections.abc import Mapping
from zlib import crc32

from fencepost.core.malformed import is_integer

_FORMAT = "fencepost-marks 1"


def encode(marks: Mapping[str, int]) -> bytes:
    body = json.dumps(marks, sort_keys=True)
    return f"{_FORMAT} {crc32(body.encode()):08x} {body}\n".encode()


def decode(data: bytes) -> dict[str, int]:
    """The marks in `data`; raises ValueError unless it is exactly what `encode` wrote.

    An empty or truncated file raises too. Reading it as "no marks yet" would let every old token in.
    """
    _, brace, body = data.partition(b"{")
    try:
        marks: dict[str, int] = json.loads(brace + body)
    except RecursionError:
        raise ValueError("what stands there is nested too deeply") from None
    if not all(map(is_integer, marks.values())) or encode(marks) != data:
        raise ValueError("the checksum does not match")
    return marks
