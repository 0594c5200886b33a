# Generated from src/fencepost/session/_async/presence.py by tools/unasync.py. Do not edit: run `make gen`.
"""The session under the primitives: a lease when one is needed, and a view of who holds what."""

import random
import secrets
from collections.abc import Callable, Sequence

from fencepost._runtime import threads as runtime
from fencepost._runtime import fork
from fencepost._runtime.state import StateLock
from fencepost.contract._sync.engine import Engine
from fencepost.contract.answer import Snapshot
from fencepost.core import event
from fencepost.core.claim import Claim
from fencepost.core.holder import Holder
from fencepost.core.lease import Terms
from fencepost.core.limit import limits
from fencepost.core.name import check_name, check_text, listed
from fencepost.core.traits import Traits
from fencepost.errors import EngineError, SessionClosed, Unavailable, Unsupported
from fencepost.session._sync.courtesy import Courtesy
from fencepost.session._sync.keeper import Keeper
from fencepost.session._sync.limit import Call, Limit
from fencepost.session._sync.reentrance import Reentrance
from fencepost.session.announcer import Announcer, Listener
from fencepost.session.credence import Credence
from fencepost.session.farewell import expect_close
from fencepost.session.statistics import Statistics, Tally


class Presence:
    """One lease at a time at one engine.

    When a lease is lost, its grants are, and the next ask opens another lease under a new holder id.
    Safe to share between threads and tasks.
    """

    def __init__(
        self,
        engine: Engine,
        terms: Terms,
        *,
        label: str,
        clock: runtime.Clock,
        dice: Callable[[], float] = random.random,
        remake: "Callable[[], tuple[Engine, str]] | None" = None,
    ) -> None:
        """`remake` gives the engine and the label that the session has in the child of a fork."""
        self.label = label
        self.terms = terms
        self.limits = limits(terms)
        self.clock = clock
        self.dice = dice
        self.engine = engine
        self.credence = Credence()
        self.announce = Announcer()
        self.tally = Tally()
        self.reentrance = Reentrance()
        self.courtesy = Courtesy(self)
        self._keeper: Keeper | None = None
        # Whether the engine has ever given one, so that it is there and takes us.
        self.had_lease = False
        self._opening = StateLock()
        self._closed = False
        self._remake = remake
        # Whether what it has is the parent's: then it begins anew before anything else.
        self._inherited = False
        # The event loop that it was first used in.
        self._home: object = None
        fork.tell(self)
        expect_close(self)

    def forked(self) -> None:
        """In the child of a fork: nothing of the parent's is used here, released, read from or closed."""
        fork.keep_for_ever(self.engine, self._keeper)
        self._inherited = True
        self._keeper = None
        self._home = None
        self._opening = StateLock()
        self.tally = Tally()
        self.reentrance = Reentrance()
        self.courtesy = Courtesy(self)

    def _leftover(self) -> str | None:
        """What stays locked if the process ends now, in words; None if nothing does."""
        keeper = None if self._closed or self._inherited else self._keeper
        held = [] if keeper is None or keeper.over else [grant.name for grant in keeper.grants()]
        if not held:
            return None
        return f"{self.label} did not close its session: {listed(held)} is locked until the lease ends"

    @property
    def traits(self) -> Traits:
        """What the engine guarantees."""
        return self.engine.traits

    @property
    def lost(self) -> runtime.Event:
        """Set when the present lease is lost, and with it every grant. The next lease has an event of its own."""
        return runtime.Event() if self._keeper is None else self._keeper.lost

    def statistics(self) -> Statistics:
        held = 0 if self._keeper is None else len(self._keeper.grants())
        return self.tally.statistics(held)

    def subscribe(self, listener: Listener, *kinds: type[event.Event]) -> Callable[[], None]:
        """Call `listener` with every event of these kinds (all, if none is named); the answer unsubscribes."""
        return self.announce.subscribe(listener, *kinds)

    def keeper_at(self, now: float) -> Keeper | None:
        """The keeper of a lease that provably lives at this instant, if there is one."""
        keeper = self._keeper
        return keeper if keeper is not None and runtime.home() is self._home and keeper.proven_at(now) else None

    def keeper(self) -> Keeper:
        """The keeper of a living lease; opens one if there is none."""
        while True:
            keeper = self.keeper_at(self.clock.now())
            if keeper is not None:
                return keeper
            self.check_open()
            new = self._new_keeper()
            try:
                with self._opening:
                    keeper = self._keeper
                    if keeper is None or keeper.over:
                        keeper = self._keeper = new
                if keeper is new:
                    self.check_open()
                    new.open()
                    self.had_lease = True
                    return new
            finally:
                new.abandon()
            # One opens it for all who come meanwhile. If it can not, the next one tries.
            if keeper.opened():
                return keeper
            if runtime.time_left() <= 0:
                raise Unavailable("another ask of this session is opening its lease, and the engine does not answer")

    def _new_keeper(self) -> Keeper:
        return Keeper(
            self.engine,
            Holder(secrets.token_hex(12), self.label),
            self.terms,
            clock=self.clock,
            dice=self.dice,
            announce=self.announce,
            tally=self.tally,
            courtesy=self.courtesy,
            limits=self.limits,
        )

    def _within(self, seconds: float) -> Call:
        """What is asked inside is answered so soon, or not at all."""
        return Call(self.clock, self.clock.now() + seconds)

    def check_open(self) -> None:
        if self._closed:
            raise SessionClosed("the session is closed: connect again")
        if self._inherited:
            self._begin_anew()
        home = runtime.home()
        if home is None:
            raise Unsupported("an asynchronous session needs asyncio, and no event loop of it runs here")
        if self._home is not home:
            if self._home is not None:
                raise SessionClosed("this session belongs to another event loop: connect again in this one")
            self._home = home

    def _begin_anew(self) -> None:
        """After a fork, with an engine of our own."""
        if self._remake is None:
            raise SessionClosed("this session belongs to the parent process: connect again after a fork")
        with self._opening:
            if self._inherited:
                self.engine, self.label = self._remake()
                self._inherited = False

    def look(self, name: str) -> Snapshot:
        """Who holds `name` now, and who waits for it."""
        check_name(name)
        self.check_open()
        with self._within(self.limits.call):
            return self.engine.look(name)

    def names(self, prefix: str = "") -> Sequence[str]:
        """The names that are held or waited for, and begin so."""
        check_text(prefix, "a prefix")
        self.check_open()
        with self._within(self.limits.call):
            return self.engine.names(prefix)

    def evict(self, name: str) -> tuple[Claim, ...]:
        """Take `name` from whoever holds it, and return the claims that were taken away.

        Its holder is told at the next renewal; a fence refuses it as soon as the next holder shows its token.
        The engine keeps a record, which `look` shows.
        """
        check_name(name)
        self.check_open()
        with self._within(self.limits.call):
            taken = self.engine.evict(name, self.label)
        for claim in taken:
            self.announce(
                event.Evicted(
                    holder=self.label, name=name, token=claim.token or 0, evicted=claim.holder.label, by=self.label
                )
            )
        return taken

    def ask_to_yield(self, name: str, *, reason: str = "") -> bool:
        """Ask whoever holds `name` to let go of it; whether anybody does. What it does then is up to the holder."""
        check_name(name)
        check_text(reason, "a reason")
        self.check_open()
        return self.courtesy.ask(name, reason)

    def close(self) -> None:
        """Give back everything this session holds and leave all queues. Closing twice is fine.

        An engine that does not answer is waited for a second, or a tenth of the ttl if that is more: then the lease
        runs out by itself.
        """
        if self._inherited or runtime.is_gone(self._home):
            # The parent's, or of an event loop that is closed: nothing can be said to the engine.
            self._closed = True
            return
        if not self._closed:
            self.check_open()
        self._closed = True
        try:
            runtime.shielded(self._close(self.limits.close))
        except BaseException:
            # A thread may be interrupted anywhere on its way: what is left to be done is done now.
            runtime.shielded(self._close(self.limits.farewell))
            raise

    def _close(self, seconds: float) -> bool:
        until = self.clock.now() + seconds
        with self._opening:
            # From here on nobody opens another.
            keeper = self._keeper
        if keeper is not None:
            keeper.close(until)
        try:
            with Limit(self.clock, until):
                self.engine.close()
        except EngineError:
            # What it did not let go of ends with the process.
            pass
        return True
