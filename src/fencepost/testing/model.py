"""What an engine has to remember, in the most obvious form: one list, walked from the front.

It shares no rule with the engines, so that it can tell when one of them is wrong.
"""

from dataclasses import dataclass
from typing import Literal

from fencepost.core.claim import Ask, Mode, Request
from fencepost.core.holder import Holder

Answer = Literal["granted", "queued", "busy", "gone"]


@dataclass(eq=False)
class Entry:
    """One request in the line: the names it still stands for, and whether it holds them or waits for them."""

    request: Request
    asks: dict[str, Ask]
    # Of all grants so far the how many-eth it is; 0: it waits.
    granted: int = 0

    @property
    def key(self) -> tuple[str, int]:
        return self.request.holder.id, self.request.serial

    @property
    def whole(self) -> bool:
        """Whether nothing was released or evicted of it."""
        return len(self.asks) == len(self.request.asks)


class Model:
    def __init__(self) -> None:
        self.now = 0.0
        self.leases: dict[str, float] = {}
        # Everyone who holds or waits: the highest priority first, and equals in order of arrival.
        self.line: list[Entry] = []
        self.grants = 0

    def advance(self, seconds: float) -> None:
        """Let time pass, and leases end one after the other."""
        self.now += seconds
        for holder_id in sorted(self.leases, key=self.leases.__getitem__):
            if self.leases[holder_id] <= self.now:
                self._end(holder_id)

    def open(self, holder: Holder, ttl: float) -> None:
        self.leases[holder.id] = self.now + ttl

    def renew(self, holder: Holder, ttl: float) -> bool:
        if holder.id not in self.leases:
            return False
        self.leases[holder.id] = self.now + ttl
        return True

    def close(self, holder: Holder) -> None:
        if holder.id in self.leases:
            self._end(holder.id)

    def claim(self, request: Request, *, wait: bool) -> Answer:
        if request.holder.id not in self.leases:
            return "gone"
        entry = self.find(request)
        if entry is not None and not entry.whole:
            # Part of it was evicted before its holder heard of the grant: all or none, so it starts again.
            self.withdraw(request)
            entry = None
        if entry is None:
            entry = Entry(request, {ask.name: ask for ask in request.asks})
            self.line.append(entry)
            self.line.sort(key=lambda each: -each.request.priority)
            self._serve()
        if entry.granted:
            return "granted"
        if wait:
            return "queued"
        self.withdraw(request)
        return "busy"

    def withdraw(self, request: Request) -> None:
        self.line = [entry for entry in self.line if entry is not self.find(request)]
        self._serve()

    def release(self, request: Request, name: str) -> bool:
        entry = self.find(request)
        if entry is None or not entry.granted or name not in entry.asks:
            return False
        self._take_away(entry, name)
        self._serve()
        return True

    def evict(self, name: str) -> list[Entry]:
        taken = self.holders(name)
        for entry in taken:
            self._take_away(entry, name)
        self._serve()
        return taken

    def find(self, request: Request) -> Entry | None:
        key = (request.holder.id, request.serial)
        return next((entry for entry in self.line if entry.key == key), None)

    def holders(self, name: str) -> list[Entry]:
        found = [entry for entry in self.line if entry.granted and name in entry.asks]
        return sorted(found, key=lambda entry: entry.granted)

    def waiters(self, name: str) -> list[Entry]:
        return [entry for entry in self.line if not entry.granted and name in entry.asks]

    def names(self) -> list[str]:
        return sorted({name for entry in self.line for name in entry.asks})

    def _end(self, holder_id: str) -> None:
        del self.leases[holder_id]
        self.line = [entry for entry in self.line if entry.request.holder.id != holder_id]
        self._serve()

    def _take_away(self, entry: Entry, name: str) -> None:
        del entry.asks[name]
        if not entry.asks:
            self.line.remove(entry)

    def _serve(self) -> None:
        for place, entry in enumerate(self.line):
            if not entry.granted and all(self._may_have(place, ask) for ask in entry.asks.values()):
                self.grants += 1
                entry.granted = self.grants

    def _may_have(self, place: int, ask: Ask) -> bool:
        """Whether nobody further ahead waits for the name, and whoever holds it tolerates the ask beside."""
        if any(ask.name in entry.asks for entry in self.line[:place] if not entry.granted):
            return False
        held = [entry.asks[ask.name] for entry in self.holders(ask.name)]
        if ask.mode == Mode.EXCLUSIVE:
            return held == []
        if ask.mode == Mode.SHARED:
            return {each.mode for each in held} <= {Mode.SHARED}
        if {each.mode for each in held} <= {Mode.COUNTED}:
            agreed = {each.limit for each in [*held, ask]} == {ask.limit}
            return agreed and sum(each.weight for each in [*held, ask]) <= ask.limit
        return False
