"""A queue that moves fast, kept in shared memory instead of the state file.

Where a lock changes hands every few microseconds, two transactions for each step would be most of the work. So the
queue of such a name moves to a *relay*: a ring of places in the gate's memory map, with the holder at its head. It
is safe because

- all of it happens inside the gate;
- every change is one word, written after all that it makes true: whoever is killed before that has changed nothing;
- only the fast lane (`lane`) knows of relays. Every transaction begins by putting all of them back into
  the state file (`transfer`), so whatever is not simple (death, leases that end, requests that are not plain, an
  operator who looks) finds rows there.
"""

import struct
from collections.abc import Iterable, Iterator
from typing import NamedTuple
from zlib import crc32

from fencepost.engines.sqlite.gate import RELAYS, TRACKS, Gate
from fencepost.engines.sqlite.mailbox import SOON, Letter, made
from fencepost.engines.sqlite.vigil import QUICK

# A slot: four words, the name, and the ring.
_SLOT = 4096
_NAME = 64
_RING = 256
COUNT = len(TRACKS) // _SLOT
LONGEST_NAME = _RING - _NAME
_LONGEST_HOLDER, _LONGEST_MAILBOX = 40, 24
_PLACE = 128
ROOM = (_SLOT - _RING) // _PLACE
_RUNNER = struct.Struct(f"<QQdqdBB{_LONGEST_HOLDER}s{_LONGEST_MAILBOX}s")
# Its second and third: what a grant changes.
_GRANT = struct.Struct("<Qd")
_TOKEN = 8
_SINCE = struct.Struct("<d")
_SINCE_AT = 16
# The word of a place that is not 0 while whoever stands there wants to be called before its turn.
_CALL = 14


class Runner(NamedTuple):
    """One in the ring. Its `ticket` is from its arrival, and its `token` means nothing before it is at the head.

    `since` is when it came, or was granted; its lease certainly does not end before `lease_ends`.
    """

    ticket: int
    token: int
    since: float
    serial: int
    lease_ends: float
    holder: str
    mailbox: str


class Track:
    """One slot for a relay."""

    def __init__(self, gate: Gate, index: int) -> None:
        self._gate = gate
        start = TRACKS.start + index * _SLOT
        self._head, self._tail, self.length, self._passed_at = range(start // 8, start // 8 + 4)
        self.text = start + _NAME
        self._ring = start + _RING
        self.bit = 1 << index

    def is_used(self) -> bool:
        return bool(self._gate.words[RELAYS] & self.bit)

    @property
    def name(self) -> str:
        start = self.text
        return bytes(self._gate.notes[start : start + self._gate.words[self.length]]).decode()

    def start(self, name: bytes, runners: Iterable[Runner]) -> bool:
        """Take over a queue, the holder first. False if it does not fit."""
        words = self._gate.words
        if len(name) > LONGEST_NAME:
            return False
        self._gate.notes[self.text : self.text + len(name)] = name
        words[self.length] = len(name)
        words[self._head] = words[self._tail] = 0
        if any(self.join(*runner) is None for runner in runners):
            return False
        words[RELAYS] |= self.bit
        return True

    def end(self) -> None:
        self._gate.words[RELAYS] &= ~self.bit

    def is_free(self) -> bool:
        words = self._gate.words
        return bool(words[self._head] == words[self._tail])

    def join(
        self,
        ticket: int,
        token: int,
        since: float,
        serial: int,
        lease_ends: float,
        holder: str,
        mailbox: str,
        call: bool = False,
    ) -> int | None:
        """Stand behind the last: behind how many; whoever is alone has the name. None if there is no room.

        With `call`, shortly before its turn it is told so.
        """
        gate = self._gate
        words = gate.words
        tail: int = words[self._tail]
        before = tail - words[self._head]
        who, where = holder.encode(), mailbox.encode()
        if before >= ROOM or len(who) > _LONGEST_HOLDER or len(where) > _LONGEST_MAILBOX:
            return None
        at = self._ring + tail % ROOM * _PLACE
        _RUNNER.pack_into(gate.notes, at, ticket, token, since, serial, lease_ends, len(who), len(where), who, where)
        words[at // 8 + _CALL] = call
        words[self._tail] = tail + 1
        return before

    def pass_on(self, token: int, now: float) -> tuple[Letter, ...] | None:
        """From the holder with this token to the next in line: what to tell it, nothing if nobody is.

        And what to tell the one after it, if that is to be called.
        None if the name is not held with it, or the next in line may be without a lease: then nothing has changed.
        """
        gate = self._gate
        words, notes = gate.words, gate.notes
        head, tail = words[self._head], words[self._tail]
        was = self._ring + head % ROOM * _PLACE
        if head == tail or words[(was + _TOKEN) // 8] != token:
            return None
        heir = head + 1
        if heir == tail:
            words[self._head] = heir
            return ()
        at = self._ring + heir % ROOM * _PLACE
        _, _, _, serial, lease_ends, long, wide, who, where = _RUNNER.unpack_from(notes, at)
        if lease_ends <= now:
            return None
        number = gate.mint()
        _GRANT.pack_into(notes, at + _TOKEN, number, now)
        words[self._head] = heir
        letter = made(Letter, (where[:wide].decode(), who[:long].decode(), serial, (number,)))
        if heir + 1 < tail and now - _SINCE.unpack_from(notes, was + _SINCE_AT)[0] < QUICK:
            return self._with_call(letter, heir + 1)
        return (letter,)

    def _with_call(self, letter: Letter, number: int) -> tuple[Letter, ...]:
        at = self._ring + number % ROOM * _PLACE
        if not self._gate.words[at // 8 + _CALL]:
            return (letter,)
        _, _, _, serial, _, long, wide, who, where = _RUNNER.unpack_from(self._gate.notes, at)
        return letter, made(Letter, (where[:wide].decode(), who[:long].decode(), serial, SOON))

    def runners(self) -> Iterator[Runner]:
        """All of them, the holder first."""
        words = self._gate.words
        return map(self._runner, range(words[self._head], words[self._tail]))

    def pace(self, now: float) -> float:
        """How long ago a name of this slot was handed over before; it is now, again."""
        words, at = self._gate.words, self._passed_at
        microseconds = int(now * 1e6)
        before, words[at] = words[at], microseconds
        return (microseconds - before) / 1e6

    def _runner(self, number: int) -> Runner:
        at = self._ring + number % ROOM * _PLACE
        ticket, token, since, serial, lease_ends, long, wide, who, where = _RUNNER.unpack_from(self._gate.notes, at)
        return Runner(ticket, token, since, serial, lease_ends, who[:long].decode(), where[:wide].decode())


class Tracks:
    """The slots of one gate."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate
        self._tracks = [Track(gate, index) for index in range(COUNT)]
        # The name asked for last: whoever hands a lock around asks for the same again and again.
        self._last: tuple[str, bytes, int, Track] = ("", b"", 0, self._tracks[0])

    def relay_of(self, name: str) -> Track | None:
        """The relay that has the queue of `name` now."""
        gate = self._gate
        words = gate.words
        used = words[RELAYS]
        if not used:
            return None
        last, key, length, track = self._last
        if last != name:
            key, track = name.encode(), self.slot_for(name)
            length = len(key)
            self._last = (name, key, length, track)
        start = track.text
        if used & track.bit and words[track.length] == length and gate.notes[start : start + length] == key:
            return track
        return None

    def slot_for(self, name: str) -> Track:
        return self._tracks[crc32(name.encode()) % COUNT]

    def in_use(self) -> list[Track]:
        if not self._gate.words[RELAYS]:
            return []
        return [track for track in self._tracks if track.is_used()]

    def end_all(self) -> None:
        self._gate.words[RELAYS] = 0
