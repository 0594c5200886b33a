"""What a token looks like in HTTP, and what a service says about it.

Fencing-Token: 41      in the request
Fencing-Mark: 42       in the answer 412, with which a stale one is refused
"""

import json
from dataclasses import dataclass, field

from fencepost.core.token import LARGEST
from fencepost.errors import Stale

HEADER = "Fencing-Token"
MARK = "Fencing-Mark"
SAFE = frozenset(("GET", "HEAD", "OPTIONS", "TRACE"))


@dataclass(frozen=True, slots=True)
class Refusal:
    """An answer in place of the service's own."""

    status: int
    reason: str
    text: str
    headers: tuple[tuple[str, str], ...] = field(default=())

    @property
    def body(self) -> bytes:
        return json.dumps({"error": self.text}).encode() + b"\n"

    def all_headers(self) -> list[tuple[str, str]]:
        return [("Content-Type", "application/json"), ("Content-Length", str(len(self.body))), *self.headers]


def judge(method: str, shown: str | None) -> int | Refusal | None:
    """The token of a request; None if it needs none and shows none; else why it may not pass.

    Reads count: a token shown with a GET is claimed, too, so that what is read stays true until it is written back.
    """
    if shown is None:
        if method.upper() in SAFE:
            return None
        return Refusal(428, "Precondition Required", f"show the token of your lock: {HEADER}: <number>")
    if not (shown.isascii() and shown.isdecimal() and 0 < int(shown[:20]) <= LARGEST):
        return Refusal(400, "Bad Request", f"{HEADER} is a number between 1 and 2**63 - 1")
    return int(shown)


def stale(error: Stale) -> Refusal:
    return Refusal(412, "Precondition Failed", str(error), ((MARK, str(error.highest)),))


def path_name(path: str) -> str:
    """The name that a path is fenced under, unless the service says otherwise: the path without its first slash."""
    return path.strip("/") or "/"
