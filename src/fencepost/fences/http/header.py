"""What a token looks like in HTTP, and what a service says about it.

Fencing-Token: 41      in the request
Fencing-Mark: 42       in the answer 412, with which a stale one is refused
"""

import json
import re
import time
from dataclasses import dataclass, field

from fencepost.core.name import check_name
from fencepost.core.token import LARGEST, check_token
from fencepost.core.version import check_version
from fencepost.errors import Stale

HEADER = "Fencing-Token"
MARK = "Fencing-Mark"
SAFE = frozenset(("GET", "HEAD", "OPTIONS", "TRACE"))
# How large the body of a fenced request may be, unless the service says otherwise.
LARGEST_BODY = 64 * 2**20
YEAR = 366 * 86400
_MARKS = re.compile(rb"[^0-9a-z]")
_NUMBER = re.compile(r"[1-9][0-9]{0,18}", re.ASCII)


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


def check_limits(largest_token: int | None, largest_body: int) -> None:
    """What a service says of its requests, or an error that says what to change."""
    if largest_token is not None:
        check_token(largest_token)
    check_version(largest_body, "largest_body")


def judge(method: str, name: str, shown: str | None, largest: int) -> int | Refusal | None:
    """The token of a request; None if it needs none and shows none; else why it may not pass.

    Reads count: a token shown with a GET is claimed, too, so that what is read stays true until it is written back.
    """
    if shown is None:
        if method.upper() in SAFE:
            return None
        return Refusal(428, "Precondition Required", f"show the token of your lock: {HEADER}: <number>")
    if not _NUMBER.fullmatch(shown) or int(shown) > LARGEST:
        return bad(f"{HEADER} is a number between 1 and 2**63 - 1, without leading zeros")
    if int(shown) > largest:
        # It would be remembered, and shut out all others for ever.
        return bad(f"{HEADER} {shown} is higher than any token can be: the largest to be believed is {largest}")
    try:
        check_name(name)
    except ValueError as error:
        return bad(f"this path can not be fenced: {error}")
    return int(shown)


def plausible() -> int:
    """The highest token that a lock can have come to: those that count fastest follow a clock in microseconds.

    A year is for clocks that do not agree.
    """
    return int((time.time() + YEAR) * 1_000_000)


def plain(name: bytes) -> bytes:
    """What a header is called by those that take other marks for `-`, as the rules of CGI do with `_`."""
    return _MARKS.sub(b"-", name.lower())


def length_required() -> Refusal:
    return Refusal(411, "Length Required", "a fenced request says the length of its body: this server reads no chunks")


def bad(text: str) -> Refusal:
    return Refusal(400, "Bad Request", text)


def too_large(most: int) -> Refusal:
    return Refusal(413, "Content Too Large", f"a fenced request has at most {most} bytes")


def stale(error: Stale) -> Refusal:
    return Refusal(412, "Precondition Failed", str(error), ((MARK, str(error.highest)),))


def path_name(path: str) -> str:
    """The name that a path is fenced under, unless the service says otherwise: the path without its first slash."""
    return path.strip("/") or "/"
