"""Requests and claims as Redis has them, there and back. See lua/queue.lua for what each field is."""

import json
import math
from collections.abc import Iterable
from typing import Any

from fencepost.contract.answer import Eviction, Snapshot, Standing
from fencepost.core.claim import Ask, Claim, Mode
from fencepost.core.holder import Holder
from fencepost.core.name import check_name
from fencepost.core.token import check_token

# Who holds a lock that none of us took. Its token is below every other.
STRANGER = Holder("", "another client")
# By how much the score of a waiter is lowered for each step of its priority: longer than anybody waits, in µs.
BAND = 1 << 45
# What comes of taking apart what a stranger wrote.
UNREADABLE = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, StopIteration, RecursionError)
_MODES = {"x": Mode.EXCLUSIVE, "s": Mode.SHARED, "c": Mode.COUNTED}


def tail_of(label: str, note: str) -> bytes:
    text = label.encode()
    return b"%d:%b%b" % (len(text), text, note.encode())


def kind_of(ask: Ask) -> str:
    match ask.mode:
        case Mode.EXCLUSIVE:
            return "x"
        case Mode.SHARED:
            return "s"
        case Mode.COUNTED:
            return f"c{ask.weight},{ask.limit}"


def several(label: str, asks: tuple[Ask, ...], locks: list[bytes]) -> bytes:
    """The list of a request for several names."""
    return json.dumps(
        [
            [lock.decode(), kind_of(ask), tail_of(label, ask.note).decode()]
            for ask, lock in zip(asks, locks, strict=True)
        ]
    ).encode()


def names_of(locks: Iterable[bytes], prefix: str) -> list[str]:
    """The names of locks. What can be none is a stranger's."""
    found = []
    for lock in locks:
        try:
            found.append(check_name(lock.decode()[len(prefix) :]))
        except ValueError:
            pass
    return sorted(found)


def claim_of(name: str, lock: bytes, text: bytes) -> Claim:
    """A claim, from the value of a lock, the holder of a shared one ('#…'), or a waiter; what is none is another's."""
    try:
        return _read(name, lock, text)
    except UNREADABLE:
        return Claim(STRANGER, 0, Ask(name), 0)


def _read(name: str, lock: bytes, text: bytes) -> Claim:
    if text.startswith(b"fp:") and text.count(b":") >= 4:
        _, holder, serial, token, tail = text.split(b":", 4)
        return _claim(name, holder, serial, "x", tail, int(token))
    if text.startswith(b"#"):
        holder, serial, token, kind, tail = text[1:].split(b":", 4)
        return _claim(name, holder, serial, kind.decode(), tail, int(token))
    if text.count(b":") >= 5:
        holder, serial, _, _, kind, tail = text.split(b":", 5)
        return _claim(name, holder, serial, kind.decode().removeprefix("m"), tail, None)
    raise ValueError("another client's")


def _claim(name: str, holder: bytes, serial: bytes, kind: str, tail: bytes, token: int | None) -> Claim:
    if token is not None:
        check_token(token)
    length, _, text = tail.partition(b":")
    label, note = text[: int(length)], text[int(length) :]
    weight, limit = map(int, kind[1:].split(",")) if kind[0] == "c" else (1, 1)
    ask = Ask(name, _MODES[kind[0]], weight, limit, note.decode(errors="replace"))
    return Claim(Holder(holder.decode(), label.decode(errors="replace")), int(serial), ask, token)


def snapshot_of(name: str, lock: bytes, reply: list[Any]) -> Snapshot:
    now = int(reply[0])
    holders, waiters = reply[1], reply[2]
    return Snapshot(
        name,
        holders=tuple(
            _standing(claim_of(name, lock, text), now, None, left)
            for text, left in zip(holders[::2], holders[1::2], strict=True)
        ),
        waiters=tuple(
            _standing(claim_of(name, lock, member), now, _turn(turn, now), left)
            for member, turn, left in zip(waiters[::3], waiters[1::3], waiters[2::3], strict=True)
        ),
        evictions=tuple(each for entry in reply[3] if (each := _eviction(name, lock, entry, now)) is not None),
    )


def _standing(claim: Claim, now: int, turn: float | None, left: int) -> Standing:
    # A token is at least the server's time of its grant, in µs; only after its clock was set back it is more.
    priority = 0 if turn is None else round((now - turn) / BAND)
    since = (claim.token or now) if turn is None else turn + priority * BAND
    return Standing(claim, max(0.0, (now - since) / 1e6), max(0, left) / 1000, priority)


def _turn(text: bytes, now: int) -> float:
    """When a waiter came; anything at all may stand there."""
    try:
        turn = float(text)
    except ValueError:
        return now
    return turn if math.isfinite(turn) else now


def _eviction(name: str, lock: bytes, entry: bytes, now: int) -> Eviction | None:
    try:
        _, token, _, text, by, at = json.loads(entry.decode(errors="replace"))
        claim = claim_of(name, lock, text.encode())
        return Eviction(name, int(token), claim.holder.label, str(by), max(0.0, (now - int(at)) / 1e6))
    except UNREADABLE:
        return None
