# Generated from src/fencepost/primitives/_async/partitions.py by tools/unasync.py. Do not edit: run `make gen`.
"""Partition ownership: so many parts, each owned by exactly one of the workers that are there."""

from fencepost._runtime import threads as runtime
from fencepost.core.assignment import MOST_PARTITIONS, balanced, counts, is_assignment
from fencepost.core.claim import Ask
from fencepost.core.name import MOST_DATA, check_text
from fencepost.core.permit import check_count
from fencepost.core.roster import Member, entered
from fencepost.errors import Conflict
from fencepost.primitives._sync.acquirable import Acquirable, give_up
from fencepost.primitives._sync.ownership import Ownership
from fencepost.primitives._sync.roster import Roster
from fencepost.session._sync.grant import Grant
from fencepost.session._sync.limit import Limit
from fencepost.session._sync.presence import Presence
from fencepost.session._sync.pursuit import Denial
from fencepost.session._sync.record import Document


class Partitions(Acquirable[Ownership]):
    """As a block, it is one of the workers inside: `with session.partitions("orders", 12) as owned`.

    Partitions are spread evenly, and few move when workers come and go. One moves only after its last owner let go
    of it or was lost; until then nobody else works on it.
    """

    def __init__(self, presence: Presence, name: str, count: int, *, data: str = "") -> None:
        super().__init__(presence, (Ask(name),), None)
        self._count = check_count(count, "number of partitions", MOST_PARTITIONS)
        self._data = check_text(data, "the data of a member", MOST_DATA)
        self._roster = Roster(presence, "partitions", name, is_assignment)
        self._joined: dict[Grant, Ownership] = {}

    @property
    def name(self) -> str:
        return self._asks[0].name

    def __repr__(self) -> str:
        return f"<{type(self).__name__} '{self.name}' of {self._count}>"

    def _take(self, timeout: float | None, taken: list[Grant]) -> Denial | None:
        limits = self._presence.limits
        back_by = limits.back_by(self._presence.clock.now(), timeout)
        member = Member(self._roster.new_id(), self._presence.label, self._data)
        denial = self._roster.appear(member.id, self._data, taken, timeout, back_by)
        if denial is not None:
            return denial
        try:
            # The other half is for giving it back. Whoever is in the record without a lock is struck off by others.
            with Limit(self._presence.clock, back_by - limits.farewell / 2):
                self._roster.strike_off_the_dead()
                self._roster.record.change(lambda document: self._entered(document, member))
        except BaseException as error:
            runtime.shielded(give_up(self._presence, taken, error, back_by))
            raise
        ownership = Ownership(self._presence, self._roster, self.name, self._count, member.id, taken[0])
        self._joined[taken[0]] = ownership
        return None

    def _entered(self, document: Document, member: Member) -> Document:
        other = counts(document)
        if document.get("present") and other not in (None, self._count):
            raise Conflict(f"'{self.name}' has {other} partitions, not {self._count}: agree on one number")
        if other != self._count:
            document = {**document, "owners": None}
        document = entered(document, member)
        return balanced(document, self._count) or document

    def _held(self, taken: list[Grant]) -> Ownership:
        ownership = self._joined.pop(taken[0])
        ownership.start()
        return ownership
