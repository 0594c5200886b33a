"""The small object that stands at a guarded key: the token, and where the content is.

Why not the content itself, with the token in its metadata? An ETag is a digest of the content, so a claim that
changes only the metadata leaves it as it was, and the older holder's `If-Match` still holds. A pointer has a number of
its own in it, so no two have the same ETag; and a claim moves a hundred bytes, however large the content.
"""

import json
import re
import secrets
from dataclasses import dataclass, replace

from fencepost.core.malformed import STUMBLES, is_integer, is_text
from fencepost.errors import Refused

FIELD = "fencing-token"
# No pointer has so many bytes. What stands at the key may be anybody's, and as large as it likes.
LARGEST = 64 << 10
# What follows a key's prefix: the token and the nonce of the write.
_CONTENT = re.compile("[0-9]{1,19}-[0-9a-f]{16}")


@dataclass(frozen=True, slots=True)
class Pointer:
    """What stands at a key. `content` is the key of the content, None where there is none (any more)."""

    token: int
    nonce: str
    content: str | None

    def moved(self, token: int, nonce: str, content: str | None) -> "Pointer":
        return replace(self, token=token, nonce=nonce, content=content)

    def bears(self, nonce: str) -> bool:
        """Whether the change with this nonce was made, and is the last one of the content: claims may have followed."""
        return self.nonce == nonce or (self.content or "").endswith(f"-{nonce}")

    def encode(self) -> bytes:
        return json.dumps({"token": self.token, "nonce": self.nonce, "content": self.content}).encode()

    @property
    def metadata(self) -> dict[str, str]:
        return {FIELD: str(self.token)}


NOTHING = Pointer(0, "", None)


def decode(key: str, body: bytes) -> Pointer:
    """What stands at the key. Whoever can write there must not make us read or delete what is elsewhere."""
    try:
        found = json.loads(body)
        pointer = Pointer(found["token"], found["nonce"], found["content"])
        if is_integer(pointer.token) and is_text(pointer.nonce) and _is_content(key, pointer.content):
            return pointer
    except STUMBLES:
        pass
    raise Refused(f"the object '{key}' was not written through a fence: move it to another key")


def _is_content(key: str, content: str | None) -> bool:
    """Whether this is a place of content of this key, or none."""
    if content is None:
        return True
    prefix = _prefix(key)
    return content.startswith(prefix) and _CONTENT.fullmatch(content, len(prefix)) is not None


def new_nonce() -> str:
    return secrets.token_hex(8)


def content_key(key: str, token: int, nonce: str) -> str:
    return f"{_prefix(key)}{token}-{nonce}"


def _prefix(key: str) -> str:
    return f"{key}.content/"
