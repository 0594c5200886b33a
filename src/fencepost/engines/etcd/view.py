"""The queue of one name as this session sees it: read once, and from then on kept up to date by a watch.

The watch tells of those who leave, and not of those who come: they stand behind us, and matter to nobody here.
So a newcomer of our own brings the queue that it has read; what it read may be older than what we have heard.
For readers there is a view of its own, whose watch tells also of a holder that goes on as a reader.

In a long queue nearly all that is told concerns others: it is kept unread until somebody here is concerned.
"""

from collections.abc import Iterable

from fencepost.core.malformed import Malformed
from fencepost.drivers.etcd.answer import Change, change, is_arrival
from fencepost.drivers.etcd.waiter import Waiter
from fencepost.engines.etcd.key import Place
from fencepost.engines.etcd.lease import Entry
from fencepost.engines.etcd.record import Contender, contender_of

MOST_LEFT = 1_000
MOST_UNREAD = 200


class View:
    def __init__(self, place: Place, *, for_readers: bool = False) -> None:
        self.place = place
        self.for_readers = for_readers
        # Its watch; the one opened right after it, which tells whether it keeps up; and one that is needed no more.
        self.number: int | None = None
        self.witness: int | None = None
        self.surplus: int | None = None
        self.doubts = 0
        # Whether the server has confirmed the watch: from then on nothing is missed.
        self.is_live = False
        self.is_over = False
        self.live_from = 0
        self.openers: list[Waiter] = []
        # Who waits here in this session.
        self.entries: dict[int, Entry] = {}
        self.idle_at = 0.0
        # Whoever left up to this revision is known to have left; whoever came is known up to the last read.
        self.revision = 0
        self._read_at = 0
        # In order of arrival.
        self._contenders: dict[bytes, Contender] = {}
        # When those left who did so last, by key.
        self._left: dict[bytes, int] = {}
        self._forgotten = 0
        self._unread: list[bytes] = []
        # The keys whose end concerns somebody here; None if any end may.
        self._awaited: list[bytes] | None = None

    @property
    def queue(self) -> list[Contender]:
        self.read()
        return list(self._contenders.values())

    def is_first(self, entry: Entry) -> bool:
        self.read()
        first = next(iter(self._contenders.values()), None)
        return first is not None and entry.is_own(first)

    def has(self, entry: Entry) -> bool:
        self.read()
        found = self._contenders.get(entry.key_of(self.place.name))
        return found is not None and entry.is_own(found)

    def knows_since(self, revision: int) -> bool:
        """Whether nobody can have left after that revision without our knowing."""
        return self.is_live and revision >= max(self.live_from, self._forgotten)

    def take_in(self, queue: Iterable[Contender], revision: int) -> bool:
        """What was read at that revision; whether it tells of somebody's end before the watch does."""
        self.read()
        if revision <= self._read_at:
            # Another has read later. Of those who have left since, the watch may not have told yet.
            return False
        self._read_at = revision
        before = self._contenders
        if revision >= self.revision:
            self._contenders = {each.key: each for each in queue}
            self.revision = revision
            return not before.items() <= self._contenders.items()
        present = [each for each in queue if self._left.get(each.key, 0) <= revision]
        found = {each.key: each for each in [*present, *before.values()]}
        self._contenders = dict(sorted(found.items(), key=lambda item: item[1].created))
        return False

    def hear(self, events: list[bytes]) -> bool:
        """Take in what the watch tells; whether anybody here is concerned."""
        if self.for_readers and not (events := [each for each in events if not is_arrival(each)]):
            return False
        self._unread += events
        if not self.entries and len(self._unread) >= MOST_UNREAD:
            # Nobody here is told, and nobody would read them.
            self.read()
            return False
        if self._awaited is not None and len(self._unread) < MOST_UNREAD:
            return any(key in event for event in events for key in self._awaited)
        return True

    def read(self) -> None:
        """Read what was told and not read before."""
        unread, self._unread = self._unread, []
        if not unread:
            return
        try:
            self.apply([change(event) for event in unread])
        except Malformed:
            # Nobody knows who has left: whoever waits here looks for itself, and opens another watch.
            self.is_live, self.is_over = False, True
            for entry in self.entries.values():
                entry.waiter.stir()
            raise

    def apply(self, changes: list[Change]) -> None:
        before = self.revision
        for revision, key, pair in changes:
            if revision > before:
                self.revision = revision
            if pair is not None:
                if revision > before and self.place.is_contender(pair):
                    self._rewrite(contender_of(pair, self.place.name))
                continue
            self._left.pop(key, None)
            self._left[key] = revision
            if revision > before:
                self._contenders.pop(key, None)
        while len(self._left) > MOST_LEFT:
            self._forgotten = self._left.pop(next(iter(self._left)))

    def _rewrite(self, contender: Contender) -> None:
        is_known = contender.key in self._contenders
        self._contenders[contender.key] = contender
        if not is_known:
            # Before anybody here has read the queue: what is read then may be older than this.
            self._contenders = dict(sorted(self._contenders.items(), key=lambda item: item[1].created))

    def await_ends(self) -> None:
        """See whose end concerns those who wait here: of one with a plain lock its own, and of the one before it."""
        if not all(entry.is_plain for entry in self.entries.values()):
            self._awaited = None
            return
        self._awaited = awaited = []
        if not self.entries:
            return
        self.read()
        line = list(self._contenders)
        places = {key: place for place, key in enumerate(line)}
        for entry in self.entries.values():
            awaited += line[max(0, places.get(entry.keys[0], 0) - 1) :][:2]
