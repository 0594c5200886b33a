"""Queues on the move between the state file and the relays. Everything here happens inside the gate.

A queue is in a relay while that is in use, whatever the state file says. So a relay starts before its rows are gone,
and ends after they are back: whoever is killed in between leaves rows that nobody reads before they are written anew.
"""

from fencepost.core.claim import Mode
from fencepost.core.priority import priority_of
from fencepost.engines.sqlite.gate import hash_of
from fencepost.engines.sqlite.relay import ROOM, Runner, Track
from fencepost.engines.sqlite.row import Row, is_well_formed
from fencepost.engines.sqlite.sql import STATEMENTS
from fencepost.engines.sqlite.store import Store

# A name that changes hands twice within so many seconds is worth a relay.
QUICK = 0.005
# A longer queue stays where it is: soon there would be no room for it in the ring.
MOST = ROOM // 2


class Transfer:
    def __init__(self, store: Store) -> None:
        self._store = store

    def handed_over(self, name: str, now: float) -> None:
        """A name went to the first in line, by the state file. If that happens quickly, a relay takes over."""
        track = self._store.tracks.slot_for(name)
        if track.pace(now) < QUICK and not track.is_used():
            self._to_relay(name, track)

    def to_file(self) -> None:
        """End every relay: from here on the state file knows all. Not inside a transaction."""
        tracks = self._store.tracks.in_use()
        for track in tracks:
            self._to_file(track)
        if tracks:
            self._note_relays(0)

    def _to_relay(self, name: str, track: Track) -> None:
        execute = self._store.execute
        rows = [Row._make(row) for row in execute(STATEMENTS["queue"], (name, MOST + 1)) if is_well_formed(row)]
        if len(rows) <= MOST and all(map(_is_plain, rows)):
            execute("BEGIN IMMEDIATE")
            # Whoever makes another gate from here on finds the note.
            self._store.gate.check()
            self._note_relays(1)
            execute("COMMIT")
            if track.start(name.encode(), map(_runner, rows)):
                execute(STATEMENTS["clear"], (name,))

    def _to_file(self, track: Track) -> None:
        store, name = self._store, track.name
        execute = store.execute
        execute("BEGIN IMMEDIATE")
        execute(STATEMENTS["clear"], (name,))
        for place, each in enumerate(track.runners()):
            waiting, number = (1, each.ticket) if place else (0, each.token)
            mode = Mode.EXCLUSIVE.value
            row = (name, waiting, number, each.holder, each.serial, 0, 1, mode, 1, 1, "", each.since)
            execute(STATEMENTS["claim"], row)
        execute("COMMIT")
        store.gate.note_line(hash_of(name), there=True)
        track.end()

    def _note_relays(self, number: int) -> None:
        self._store.execute(STATEMENTS["note_relays"], (number,))


def _is_plain(row: Row) -> bool:
    how = (row.mode, row.weight, row.most, row.note, row.parts, priority_of(row.number))
    return how == (Mode.EXCLUSIVE, 1, 1, "", 1, 0)


def _runner(row: Row) -> Runner:
    return Runner(row.number, row.number, row.since, row.serial, row.expires_at, row.holder, row.mailbox or "")
