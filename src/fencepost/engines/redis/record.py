"""Requests and claims as Redis has them, there and back. See lua/queue.lua for what each field is."""

import json
from typing import Any

from fencepost.contract.answer import Eviction, Snapshot, Standing
from fencepost.core.claim import Ask, Claim, Mode
from fencepost.core.holder import Holder

# Who holds a lock that none of us took. Its token is below every other.
STRANGER = Holder("", "another client")
# By how much the score of a waiter is lowered for each step of its priority: longer than anybody waits, in µs.
BAND = 1 << 45
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
    """The tail of a request for several names."""
    return json.dumps(
        [
            [lock.decode(), kind_of(ask), tail_of(label, ask.note).decode()]
            for ask, lock in zip(asks, locks, strict=True)
        ]
    ).encode()


def claim_of(name: str, lock: bytes, text: bytes) -> Claim:
    """A claim, from the value of a lock, the holder of a shared one ('#…'), or a waiter."""
    if text.startswith(b"fp:") and text.count(b":") >= 4:
        _, holder, serial, token, tail = text.split(b":", 4)
        return _claim(name, holder, serial, "x", tail, int(token))
    if text.startswith(b"#"):
        holder, serial, token, kind, tail = text[1:].split(b":", 4)
        return _claim(name, holder, serial, kind.decode(), tail, int(token))
    if text.count(b":") >= 5:
        holder, serial, _, _, kind, tail = text.split(b":", 5)
        sort = kind.decode()
        if sort == "m":
            sort, tail = next((each[1], each[2].encode()) for each in json.loads(tail) if each[0] == lock.decode())
        return _claim(name, holder, serial, sort, tail, None)
    return Claim(STRANGER, 0, Ask(name), 0)


def _claim(name: str, holder: bytes, serial: bytes, kind: str, tail: bytes, token: int | None) -> Claim:
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
            _standing(claim_of(name, lock, member), now, float(turn), left)
            for member, turn, left in zip(waiters[::3], waiters[1::3], waiters[2::3], strict=True)
        ),
        evictions=tuple(_eviction(name, lock, entry, now) for entry in reply[3]),
    )


def _standing(claim: Claim, now: int, turn: float | None, left: int) -> Standing:
    # A token is at least the server's time of its grant, in µs; only after its clock was set back it is more.
    priority = 0 if turn is None else round((now - turn) / BAND)
    since = (claim.token or now) if turn is None else turn + priority * BAND
    return Standing(claim, max(0.0, (now - since) / 1e6), max(0, left) / 1000, priority)


def _eviction(name: str, lock: bytes, entry: bytes, now: int) -> Eviction:
    _, token, _, text, by, at = json.loads(entry.decode(errors="replace"))
    claim = claim_of(name, lock, text.encode())
    return Eviction(name, int(token), claim.holder.label, by, max(0.0, (now - int(at)) / 1e6))
