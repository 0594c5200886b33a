# Generated from src/fencepost/session/_async/grant.py by tools/unasync.py. Do not edit: run `make gen`.
"""Success, and the way to lose it."""

from typing import TYPE_CHECKING

from fencepost._runtime import threads as runtime
from fencepost.core import event
from fencepost.core.claim import Claim, Mode
from fencepost.core.duration import check_seconds
from fencepost.core.holder import Holder
from fencepost.core.lease import Standing
from fencepost.errors import EngineError, Lost, NotHeld, Uncertain, Unsupported

if TYPE_CHECKING:
    from fencepost.session._sync.keeper import Keeper

_RELEASED = "released"


class Grant:
    """A lock that is held: proof of it for the resource (`token`), and the news of its loss.

    What it says about being held is computed from the lease's deadline at the moment of asking, so it is right
    also after a pause that no timer could notice. It is proof only here: between the answer and the next line
    the process may stop for a minute. Only a fence at the resource closes that gap.
    """

    __slots__ = (
        "__weakref__",
        "_asked",
        "_depth",
        "_end",
        "_interrupts",
        "_keeper",
        "_lost",
        "claim",
        "flow",
        "granted_at",
        "token",
    )

    def __init__(self, keeper: "Keeper", claim: Claim, token: int, granted_at: float) -> None:
        self._keeper = keeper
        self.claim = claim
        self.token = token
        self.granted_at = granted_at
        # Whose block it is held in: that thread or task can not let go of it while it waits for something.
        self.flow: object = None
        # None while held, then why not.
        self._end: str | None = None
        # The first is the one, if two threads make one at the same time.
        self._lost: list[runtime.Event] = []
        self._asked: runtime.Event | None = None
        self._interrupts: list[runtime.Interrupt] = []
        # How often it is to be given back.
        self._depth = 1

    def __repr__(self) -> str:
        how = _RELEASED if self.released else self.standing
        return f"<{type(self).__name__} '{self.name}' token {self.token} {how}>"

    @property
    def name(self) -> str:
        return self.claim.name

    @property
    def holder(self) -> Holder:
        return self.claim.holder

    @property
    def held(self) -> bool:
        """Whether the lock is provably ours now."""
        return self._end is None and self._keeper.proven()

    @property
    def released(self) -> bool:
        """Whether it was given back on purpose."""
        return self._end is _RELEASED

    @property
    def standing(self) -> Standing:
        """Held; in jeopardy (still held, but renewals fail); or lost."""
        return self._keeper.standing() if self._end is None else Standing.LOST

    @property
    def lost(self) -> runtime.Event:
        """Set when the lock is lost; never by a release."""
        if not self._lost:
            self._lost.append(runtime.Event())
            if self._end is not None and not self.released:
                self._lost[0].set()
        return self._lost[0]

    @property
    def asked_to_yield(self) -> runtime.Event:
        """Set when somebody politely asks for the lock (`session.ask_to_yield`). Letting go is up to you.

        It is listened for from the first time that this is looked at.
        """
        if self._asked is None:
            self._asked = self._keeper.courtesy.listen(self)
        return self._asked

    def remaining(self) -> float:
        """Seconds for which the lock is still proven ours: 0.0 when it is not."""
        return self._keeper.remaining() if self.held else 0.0

    def check(self) -> None:
        """Raise `Lost`, or `NotHeld` after a release, unless the lock is provably ours now."""
        if not self.held:
            raise self.absence()

    def require(self, seconds: float) -> None:
        """Raise `Lost` unless the lock stays provably ours for that long, without any renewal."""
        check_seconds(seconds, "seconds")
        self.check()
        remaining = self._keeper.remaining()
        if remaining < seconds:
            raise Lost(
                f"lock '{self.name}' (token {self.token}) is proven for {remaining:.3f} s more, "
                f"and {seconds:g} s are required"
            )

    def release(self) -> None:
        """Give back exactly this grant. Raises `Lost` if it was not ours any more, `NotHeld` if released before.

        A reentrant lock is given back by its last release.
        """
        keeper, claim = self._keeper, self.claim
        keeper.check_home()
        began_at = keeper.now()
        if self._depth > 1:
            keeper.check_open()
            self._depth -= 1
            return
        if self._end is not None or not keeper.proven_at(began_at):
            keeper.check_open()
            if not self.released:
                self._depth = 0
                keeper.disown(claim)
                # Nobody works under it here any more, so those who wait need not wait for the lease to end.
                runtime.shielded(keeper.settlement.settle(claim, keeper.now() + keeper.limits.answer))
            raise self.absence()
        try:
            keeper.disown(claim)
            self._end = _RELEASED
            # No longer than the engine's own patience: a limit of ours would cost more than it adds.
            kept = keeper.engine.release(claim)
        except BaseException as error:
            # A thread may have been interrupted before it had said so here.
            keeper.disown(claim)
            self._end = _RELEASED
            unsettled = runtime.shielded(keeper.settlement.settle(claim, keeper.settle_by(began_at, error)))
            if unsettled is None and isinstance(error, EngineError):
                return
            self._announce_unsettled(unsettled)
            if isinstance(error, EngineError):
                raise Uncertain(
                    f"lock '{claim.name}' was given up here, but the engine did not answer: "
                    f"it is free within {keeper.terms.ttl:g} s at the latest ({error})"
                ) from error
            raise
        if not kept:
            raise self._lost_unheard()
        self._after_release()

    def _lost_unheard(self) -> Lost:
        """It was taken away, and we heard of that only as we gave it back."""
        return Lost(f"lock '{self.name}' (token {self.token}) lost: the engine no longer had it at its release")

    def _after_release(self) -> None:
        keeper = self._keeper
        if event.Released in keeper.announce.wanted:
            held = keeper.now() - self.granted_at
            keeper.announce(event.Released(holder=self.holder.label, name=self.name, token=self.token, held=held))
        if self._asked is not None and self._asked.is_set():
            keeper.courtesy.clear(self, self.token)

    def share(self) -> None:
        """Let readers in beside us, without a gap and with the same token: from a write lock to a read lock.

        `Uncertain` if the engine does not answer: it is held still, as one or the other, and may be shared again.
        """
        keeper = self._keeper
        if not keeper.engine.traits.downgrade:
            raise Unsupported("this engine can not turn a write lock into a read lock: see its trait 'downgrade'")
        keeper.check_home()
        self.check()
        if self.claim.ask.mode is Mode.SHARED:
            return
        if self.claim.ask.mode is not Mode.EXCLUSIVE:
            raise Unsupported(f"'{self.name}' is a permit of a semaphore: only a write lock becomes a read lock")
        try:
            # Whoever is cancelled here is in a hurry, and whether it is shared by then matters to no release.
            kept = keeper.engine.share(self.claim)
        except EngineError as error:
            raise Uncertain(
                f"lock '{self.name}' is ours still, shared or not: the engine did not say ({error})"
            ) from error
        if not kept:
            keeper.lose_grant(self, "the engine no longer had it")
            raise self.absence()
        self.claim = self.claim._replace(ask=self.claim.ask._replace(mode=Mode.SHARED))

    def _announce_unsettled(self, error: EngineError | None) -> None:
        if error is not None:
            self._keeper.announce(event.Unsettled(holder=self.holder.label, names=(self.name,), reason=str(error)))

    def absence(self) -> NotHeld:
        """Why it is not held, as the exception to raise."""
        self._keeper.check_open()
        if self._end is None:
            self._keeper.proven()
        if self.released:
            return NotHeld(f"lock '{self.name}' (token {self.token}) was released before")
        return Lost(f"lock '{self.name}' (token {self.token}) lost: {self._end}")

    def reenter(self) -> "Grant":
        self._depth += 1
        return self

    def interrupt_on_loss(self, interrupt: runtime.Interrupt) -> None:
        """From now on, losing the lock also ends the block of this flow, which `interrupt` stands for."""
        self.flow = runtime.current_flow()
        self._interrupts.append(interrupt)
        if self._end is not None:
            interrupt.fire()

    def forget_interrupt(self, interrupt: runtime.Interrupt) -> None:
        self._interrupts.remove(interrupt)
        if not self._interrupts:
            self.flow = None

    def end_by_release(self) -> None:
        """It was given back together with others: its request withdrawn, or its session closed."""
        self._end = _RELEASED

    def forfeit(self, reason: str) -> None:
        """Lose it on purpose: who works under it must stop. The engine keeps it until the release, from all others."""
        if self.held:
            self._keeper.lose_grant(self, reason)

    def end_by_loss(self, reason: str) -> bool:
        """Whether it had not ended before. If it was lost before, whoever told it may have been interrupted there."""
        if self.released:
            return False
        first = self._end is None
        if first:
            self._end = reason
        if self._lost:
            self._lost[0].set()
        for interrupt in list(self._interrupts):
            interrupt.fire()
        return first
