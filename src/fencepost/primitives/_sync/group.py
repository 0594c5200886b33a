# Generated from src/fencepost/primitives/_async/group.py by tools/unasync.py. Do not edit: run `make gen`.
"""Group membership: who is there, what they say of themselves, and every change of it."""

from collections.abc import Iterator

from fencepost._runtime import threads as runtime
from fencepost.core.claim import Ask
from fencepost.core.name import MOST_DATA, check_text
from fencepost.core.roster import Member, entered, members
from fencepost.errors import FencepostError
from fencepost.primitives._sync.acquirable import Acquirable, give_up
from fencepost.primitives._sync.roster import Roster
from fencepost.session._sync.grant import Grant
from fencepost.session._sync.limit import Limit
from fencepost.session._sync.persistence import persistently
from fencepost.session._sync.presence import Presence
from fencepost.session._sync.pursuit import Denial

DATA = "the data of a member"


class Membership:
    """Being a member. Lost with the lease, like every grant; `grant.token` is above those of all who came before."""

    def __init__(self, roster: Roster, grant: Grant, member: Member, clock: runtime.Clock) -> None:
        self.grant = grant
        self.id = member.id
        self._roster = roster
        self._member = member
        self._clock = clock
        self._over = runtime.Event()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} '{self.id}' {self.grant.standing}>"

    @property
    def held(self) -> bool:
        """Whether we are provably a member now."""
        return self.grant.held

    @property
    def lost(self) -> runtime.Event:
        return self.grant.lost

    @property
    def released(self) -> bool:
        return self.grant.released

    def update(self, data: str) -> None:
        """Say something else of oneself, for all to see."""
        check_text(data, DATA, MOST_DATA)
        self.grant.check()
        self._member = self._member._replace(data=data)
        self._roster.record.change(lambda document: entered(document, self._member))

    def leave(self) -> None:
        """Be a member no longer. The others are told at once."""
        self.release()

    def release(self) -> None:
        self._over.set()
        if self.grant.held:
            self._roster.leave(self.id)
        self.grant.release()

    def interrupt_on_loss(self, interrupt: runtime.Interrupt) -> None:
        self.grant.interrupt_on_loss(interrupt)

    def forget_interrupt(self, interrupt: runtime.Interrupt) -> None:
        self.grant.forget_interrupt(interrupt)

    def look_after_neighbours(self) -> None:
        while not self._clock.wait(self._over, self._clock.now() + self._roster.period) and self.grant.held:
            try:
                self._roster.look_after_neighbour(self.id)
            except FencepostError:
                # The keeper tells of trouble with the engine; if it lasts, we are not a member any more.
                pass


class Group(Acquirable[Membership]):
    """As a block, it is a member inside: `with session.group("workers", data="10.0.0.7") as membership`."""

    def __init__(self, presence: Presence, name: str, *, data: str = "") -> None:
        super().__init__(presence, (Ask(name),), None)
        self._roster = Roster(presence, "group", name)
        self._data = check_text(data, DATA, MOST_DATA)
        self._joined: dict[Grant, Membership] = {}

    @property
    def name(self) -> str:
        return self._asks[0].name

    def __repr__(self) -> str:
        return f"<{type(self).__name__} '{self.name}'>"

    def join(self, data: str = "") -> Membership:
        """Become a member, and say `data` of oneself."""
        # By an object of its own: others who join with this one say something else.
        return type(self)(self._presence, self.name, data=data).acquire()

    def members(self) -> tuple[Member, ...]:
        """Who is there now, in order of arrival."""
        self._roster.strike_off_the_dead()
        return members((self._roster.record.read()).document)

    def watch(self) -> Iterator[tuple[Member, ...]]:
        """Who is there, now and after every change.

        Whoever dies is struck off by those who remain within a lease and a third; the last one by whoever watches.
        An engine that does not answer is asked again for as long as a lease lasts: only then the watch ends.
        """
        roster = self._roster
        seen = roster.record.read()
        present = members(seen.document)
        yield present
        while True:
            version = seen.version
            seen = roster.record.follow(version, roster.period)
            if seen.version == version and present:
                persistently(self._presence, roster.look_after_first)
                continue
            now_present = members(seen.document)
            if now_present != present:
                present = now_present
                yield present

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
                self._roster.record.change(lambda document: entered(document, member))
        except BaseException as error:
            runtime.shielded(give_up(self._presence, taken, error, back_by))
            raise
        membership = Membership(self._roster, taken[0], member, self._presence.clock)
        self._joined[taken[0]] = membership
        runtime.spawn(membership.look_after_neighbours, name=f"fencepost-group-{self.name}")
        return None

    def _held(self, taken: list[Grant]) -> Membership:
        return self._joined.pop(taken[0])
