"""The queue of one name as this session sees it: read once, and from then on kept up to date by a watch.

The watch tells of those who leave, and of nobody who comes: who comes later stands behind us and matters to nobody here.
So a newcomer of our own brings the queue that it has read; what it read may be older than what we have heard.
"""

from collections.abc import Iterable

from fencepost.drivers.etcd.answer import Change
from fencepost.drivers.etcd.waiter import Waiter
from fencepost.engines.etcd.key import Place
from fencepost.engines.etcd.lease import Entry
from fencepost.engines.etcd.record import Contender

MOST_LEFT = 1_000


class View:
    def __init__(self, place: Place, number: int) -> None:
        self.place = place
        self.number = number
        # Whether the server has confirmed the watch: from then on nothing is missed.
        self.is_live = False
        self.live_from = 0
        self.openers: list[Waiter] = []
        # Who waits here in this session.
        self.entries: dict[int, Entry] = {}
        self.idle_at = 0.0
        self.revision = 0
        # In order of arrival.
        self._contenders: dict[bytes, Contender] = {}
        # When those left who did so last, by key.
        self._left: dict[bytes, int] = {}
        self._forgotten = 0

    @property
    def queue(self) -> list[Contender]:
        return list(self._contenders.values())

    def is_first(self, entry: Entry) -> bool:
        first = next(iter(self._contenders.values()), None)
        return first is not None and entry.is_own(first)

    def has(self, entry: Entry) -> bool:
        found = self._contenders.get(entry.key_of(self.place.name))
        return found is not None and entry.is_own(found)

    def knows_since(self, revision: int) -> bool:
        """Whether nobody can have left after that revision without our knowing."""
        return self.is_live and revision >= max(self.live_from, self._forgotten)

    def take_in(self, queue: Iterable[Contender], revision: int) -> None:
        """What was read at that revision."""
        if revision >= self.revision:
            self._contenders = {each.key: each for each in queue}
            self.revision = revision
            return
        present = [each for each in queue if self._left.get(each.key, 0) <= revision]
        found = {each.key: each for each in [*present, *self._contenders.values()]}
        self._contenders = dict(sorted(found.items(), key=lambda item: item[1].created))

    def apply(self, changes: list[Change]) -> bool:
        """Take in what the watch tells; whether anybody has left."""
        left = False
        before = self.revision
        for revision, key, _ in changes:
            self._left.pop(key, None)
            self._left[key] = revision
            if revision > before:
                self.revision = revision
                left = self._contenders.pop(key, None) is not None or left
        while len(self._left) > MOST_LEFT:
            self._forgotten = self._left.pop(next(iter(self._left)))
        return left
