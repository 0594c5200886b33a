"""The mark of a name, as it stands in Consul, and the operations on it and beside it."""

from base64 import b64decode, b64encode
from typing import Any, NamedTuple
from urllib.parse import quote

from fencepost.core.malformed import Malformed
from fencepost.errors import Refused
from fencepost.fences.consul.agent import Operation
from fencepost.fences.protocol import read_mark as number_in


class Mark(NamedTuple):
    """The highest token that was shown, and the index at which it stands; 0 if none was."""

    token: int
    seen_at: int


def mark_key(prefix: str, name: str) -> str:
    return f"{prefix}.fencepost/fence/{quote(name, safe='/')}"


def look(key: str) -> Operation:
    return {"Verb": "get-or-empty", "Key": key}


def read_mark(found: dict[str, Any]) -> Mark:
    value = value_of(found)
    token = 0 if value is None else number_in(value)
    if token is None:
        raise Refused(f"'{found.get('Key')}' in consul is no mark: somebody else has written it")
    return Mark(token, found["ModifyIndex"])


def show(key: str, token: int, mark: Mark) -> Operation:
    """Insist on the mark as it was seen, and raise it to the token."""
    if token == mark.token:
        return {"Verb": "check-index", "Key": key, "Index": mark.seen_at}
    return {"Verb": "cas", "Key": key, "Index": mark.seen_at, "Value": packed(str(token).encode())}


def put(key: str, value: str | bytes) -> Operation:
    return {"Verb": "set", "Key": key, "Value": packed(value.encode() if isinstance(value, str) else value)}


def remove(key: str) -> Operation:
    return {"Verb": "delete", "Key": key}


def packed(value: bytes) -> str:
    return b64encode(value).decode()


def value_of(found: dict[str, Any]) -> bytes | None:
    """What stands under a key; None if nothing does."""
    if not found["ModifyIndex"]:
        return None
    try:
        return b64decode(found["Value"] or "")
    except ValueError:
        raise Malformed("a value that is not encoded as an agent does") from None
