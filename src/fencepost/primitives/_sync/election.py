# Generated from src/fencepost/primitives/_async/election.py by tools/unasync.py. Do not edit: run `make gen`.
"""Leader election: one leads at a time, everybody can see who, and every term has a higher number."""

from collections.abc import Iterator

from fencepost._runtime import threads as runtime
from fencepost.core.claim import Ask
from fencepost.core.deadline import Deadline
from fencepost.core.duration import check_seconds
from fencepost.core.election import Leader, changes_since, is_election, latest, proclaim
from fencepost.core.name import MOST_DATA, check_text
from fencepost.core.shown import described
from fencepost.errors import Lost, NotHeld
from fencepost.primitives._sync.acquirable import Acquirable, give_up
from fencepost.session._sync.grant import Grant
from fencepost.session._sync.limit import Limit
from fencepost.session._sync.persistence import persistently, sleep
from fencepost.session._sync.presence import Presence
from fencepost.session._sync.pursuit import Denial, obtain
from fencepost.session._sync.record import Record

VALUE = "the value of a leader"


class Election(Acquirable[Grant]):
    """As a block, it leads inside: `with session.election("scheduler", value="10.0.0.7:80") as grant`.

    The term is `grant.token`. A leader that loses its lease learns so before another can lead; as with any lock, a
    fence at what it works on is what stops one that was paused. With `healthy`, it stands only while that says True,
    and gives up the lead as soon as it says False, or raises: the block ends with `Lost`, and then another may lead.
    """

    def __init__(
        self,
        presence: Presence,
        name: str,
        *,
        value: str = "",
        timeout: float | None = None,
        healthy: runtime.Work[bool] | None = None,
        check_every: float = 1.0,
    ) -> None:
        super().__init__(presence, (Ask(name, note=check_text(value, VALUE, MOST_DATA)),), timeout)
        if healthy is not None and not callable(healthy):
            raise TypeError(f"healthy is a function that is called without arguments, not {type(healthy).__name__}")
        self._record = Record(presence, f"election/{name}", is_election)
        self._value = value
        self._healthy = healthy
        self._check_every = check_seconds(check_every, "check_every")
        if self._check_every == 0:
            raise ValueError("check_every must be more than 0 s: it is the pause between two checks")
        self._leading: Grant | None = None

    @property
    def name(self) -> str:
        return self._asks[0].name

    def __repr__(self) -> str:
        return f"<{type(self).__name__} '{self.name}'>"

    def campaign(self, value: str, *, timeout: float | None = None) -> Grant:
        """Stand for election, and return once elected. `AcquireTimeout` if that takes too long."""
        # By an object of its own: others who campaign with this one say something else.
        mine = type(self)(self._presence, self.name, value=value, healthy=self._healthy, check_every=self._check_every)
        grant = self._leading = mine.acquire(timeout=timeout)
        return grant

    def proclaim(self, value: str) -> None:
        """Change what the leader says of itself, without an election."""
        check_text(value, VALUE, MOST_DATA)
        grant = self._grant()
        grant.check()
        self._proclaim(grant, value)

    def resign(self) -> None:
        """Give up the lead; the next in line is elected."""
        self._grant().release()

    def leader(self) -> Leader | None:
        """Who leads now, if anybody does."""
        _, leader = latest((self._record.read()).document)
        return leader if leader is not None and self._leads(leader) else None

    def observe(self) -> Iterator[Leader | None]:
        """Who leads now, then every leader and every value it proclaims, in order; None when nobody leads.

        Nothing is left out in silence: `missed` tells whoever fell too far behind how many changes it did not see.
        A leader that is gone is noticed within a third of our ttl after its lease ended, unless another follows first.
        An engine that does not answer is asked again for as long as a lease lasts: only then the watch ends.
        """
        seen = self._record.read()
        number, leader = latest(seen.document)
        if leader is not None and not self._leads(leader):
            leader = None
        yield leader
        while True:
            version = seen.version
            seen = self._record.follow(version, self._presence.terms.span / 3)
            if seen.version == version and leader is not None and not self._leads(leader):
                leader = None
                yield leader
            for number_of_change, change in changes_since(seen.document, number):
                number, leader = number_of_change, change
                yield leader

    def _leads(self, leader: Leader) -> bool:
        holders = (persistently(self._presence, lambda: self._presence.look(self.name))).holders
        return any(standing.claim.token == leader.term for standing in holders)

    def _grant(self) -> Grant:
        if self._leading is None:
            raise NotHeld(f"nobody campaigned for '{self.name}' here: campaign first")
        return self._leading

    def _take(self, timeout: float | None, taken: list[Grant]) -> Denial | None:
        started_at = self._presence.clock.now()
        deadline = Deadline.after(started_at, timeout)
        if self._healthy is not None and not self._recovered(self._healthy, deadline):
            return Denial((), timeout or 0.0)
        left = None if timeout is None else deadline.left(self._presence.clock.now())
        limits = self._presence.limits
        back_by = limits.back_by(started_at, timeout)
        denial = obtain(self._presence, self._asks, left, taken, back_by=back_by)
        if denial is not None:
            return denial
        try:
            # The other half is for giving it back.
            with Limit(self._presence.clock, back_by - limits.farewell / 2):
                self._proclaim(taken[0], self._value)
        except BaseException as error:
            runtime.shielded(give_up(self._presence, taken, error, back_by))
            raise
        self._leading = taken[0]
        if self._healthy is not None:
            runtime.spawn(self._watch_over(taken[0], self._healthy), name=f"fencepost-health-{self.name}")
        return None

    def _held(self, taken: list[Grant]) -> Grant:
        return taken[0]

    def _proclaim(self, grant: Grant, value: str) -> None:
        holder = self._presence.label
        document = self._record.change(lambda document: proclaim(document, grant.token, value, holder))
        _, leader = latest(document)
        if leader is None or leader.term != grant.token:
            raise Lost(f"the lead of '{self.name}' (term {grant.token}) was lost: somebody leads in a later term")

    def _recovered(self, healthy: runtime.Work[bool], deadline: Deadline) -> bool:
        """Whether it is healthy before the time is over."""
        clock = self._presence.clock
        while not healthy():
            if deadline.passed(clock.now()):
                return False
            sleep(self._presence, min(deadline.at, clock.now() + self._check_every))
        return True

    def _watch_over(self, grant: Grant, healthy: runtime.Work[bool]) -> runtime.Work[None]:
        def watch() -> None:
            clock = self._presence.clock
            while not clock.wait(grant.lost, clock.now() + self._check_every) and grant.held:
                try:
                    well, why = healthy(), ""
                except Exception as error:
                    # A probe that can not say that all is well says that it is not.
                    well, why = False, f": its health check raised {described(error)}"
                if not well:
                    grant.forfeit(f"the leader is not healthy any more{why}")

        return watch
