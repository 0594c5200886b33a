"""The queue of one name as this session sees it, kept up to date by a watch."""

from collections.abc import Iterable

from fencepost.drivers.etcd.answer import Change
from fencepost.drivers.etcd.waiter import Waiter
from fencepost.engines.etcd.key import Place
from fencepost.engines.etcd.lease import Entry
from fencepost.engines.etcd.record import Contender, contender_of


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
        # In order of arrival: a key that is created is created after all others.
        self._contenders: dict[bytes, Contender] = {}

    @property
    def queue(self) -> list[Contender]:
        return list(self._contenders.values())

    def is_first(self, entry: Entry) -> bool:
        first = next(iter(self._contenders.values()), None)
        return first is not None and entry.is_own(first)

    def has(self, entry: Entry) -> bool:
        found = self._contenders.get(entry.key_of(self.place.name))
        return found is not None and entry.is_own(found)

    def reset(self, queue: Iterable[Contender], revision: int) -> None:
        """What was read at that revision, unless we have heard of later changes."""
        if revision >= self.revision:
            self._contenders = {each.key: each for each in queue}
            self.revision = revision

    def apply(self, changes: list[Change]) -> bool:
        """Take in what the watch tells; whether anybody has left, or lets others in beside it."""
        left = False
        before = self.revision
        for revision, key, pair in changes:
            if revision <= before:
                continue
            self.revision = revision
            if pair is None:
                left = self._contenders.pop(key, None) is not None or left
            elif self.place.is_contender(pair):
                known, contender = self._contenders.get(key), contender_of(pair, self.place.name)
                left = left or (known is not None and known.ask != contender.ask)
                self._contenders[key] = contender
        return left
