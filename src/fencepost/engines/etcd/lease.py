"""One lease as its engine knows it: what is asked and held on it."""

from collections.abc import Mapping, Sequence
from itertools import count

from fencepost._runtime.state import StateLock
from fencepost.core.claim import Mode, Request
from fencepost.core.holder import Holder
from fencepost.drivers.etcd.waiter import Waiter
from fencepost.engines.etcd.key import Place, lease_of
from fencepost.engines.etcd.record import Contender, serial_text


class Entry:
    """A request that was sent: a place in a queue, or with tokens what it holds."""

    __slots__ = (
        "created",
        "doubts",
        "held",
        "is_plain",
        "is_reader",
        "keys",
        "moves",
        "over",
        "places",
        "request",
        "serial",
        "shared",
        "slot",
        "waiter",
    )

    def __init__(self, request: Request, places: list[Place], lease: int, slot: int) -> None:
        self.request = request
        self.places = places
        self.slot = slot
        self.serial = serial_text(request.serial)
        self.keys = [place.key(lease, slot) for place in places]
        # The names that it has a place for, or holds still.
        self.held = {place.name for place in places}
        # The revision that created its keys, once they are known to be there.
        self.created = 0
        # How many claims were sent and never answered: each may still arrive.
        self.doubts = 0
        self.over: str | None = None
        # How often it has taken other keys, as somebody else had written its own.
        self.moves = 0
        self.waiter = Waiter()
        # Whether it asks for one lock, which nobody else may hold.
        self.is_plain = len(places) == 1 and request.asks[0].mode is Mode.EXCLUSIVE
        # Whether its turn may come while all who stand before it stay.
        self.is_reader = not self.is_plain and any(each.mode is Mode.SHARED for each in request.asks)
        # Whether it was asked to go on as a reader: what stands under its keys may be another value by now.
        self.shared = False

    @property
    def who(self) -> tuple[str, int]:
        return self.request.holder.id, self.request.serial

    def key_of(self, name: str) -> bytes:
        return self.keys[0] if len(self.keys) == 1 else self.keys[[place.name for place in self.places].index(name)]

    def is_own(self, contender: Contender) -> bool:
        return contender.request == self.who

    def is_in(self, queues: Mapping[str, Sequence[Contender]]) -> bool:
        """Whether anything of it is in the queues."""
        return any(self.is_own(each) for place in self.places for each in queues[place.name])

    def is_overwritten(self, queues: Mapping[str, Sequence[Contender]]) -> bool:
        """Whether anything else stands in the queues under its keys."""
        return any(each.key in self.keys and not self.is_own(each) for queue in queues.values() for each in queue)


class Lease:
    def __init__(self, holder: Holder) -> None:
        self.holder = holder
        self.id = lease_of(holder)
        self.entries: dict[int, Entry] = {}
        # The revision of its own key: of claims that insist on another one, none arrives any more.
        self.epoch = 0
        # The claims of names asked for before, cut where the serial goes, each for one epoch.
        self.patterns: dict[tuple[str, int], list[bytes]] = {}
        self._slots: dict[str, set[int]] = {}
        self._lock = StateLock()

    def note(self, request: Request, places: list[Place], *, least: int = 0) -> Entry:
        """Before anything is sent: its keys are its own from now on, until it is known that nothing is left of it."""
        with self._lock:
            taken = {slot for place in places for slot in self._slots.get(place.name, ())}
            slot = next(each for each in count(least) if each not in taken)
            for place in places:
                self._slots.setdefault(place.name, set()).add(slot)
            entry = self.entries[request.serial] = Entry(request, places, self.id, slot)
            return entry

    def begin(self, epoch: int) -> None:
        """An epoch is known to have begun. Answers may come in another order than the epochs."""
        with self._lock:
            self.epoch = max(self.epoch, epoch)

    def note_again(self, entry: Entry) -> Entry:
        """The same request anew, with nothing left of it. It keeps its keys if it still has all of them: a claim that
        was sent for it before, and arrives late, makes no others then."""
        if len(entry.held) < len(entry.places):
            self.drop(entry)
            fresh = self.note(entry.request, entry.places)
        else:
            with self._lock:
                fresh = self.entries[entry.request.serial] = Entry(entry.request, entry.places, self.id, entry.slot)
                entry.held.clear()
        fresh.doubts = entry.doubts
        return fresh

    def move(self, entry: Entry) -> Entry:
        """The same request anew under further keys, with nothing left of it and nothing that may still arrive."""
        fresh = self.note(entry.request, entry.places, least=entry.slot + 1)
        fresh.moves = entry.moves + 1
        self.drop(entry)
        return fresh

    def drop(self, entry: Entry, *names: str) -> None:
        """Nothing is left of these names of the entry; without names, of all."""
        with self._lock:
            # Told twice, it must not give away a slot that is another's by then.
            for name in entry.held.intersection(names or entry.held):
                entry.held.discard(name)
                slots = self._slots.get(name, set())
                slots.discard(entry.slot)
                if not slots:
                    self._slots.pop(name, None)
            if not entry.held and self.entries.get(entry.request.serial) is entry:
                del self.entries[entry.request.serial]
