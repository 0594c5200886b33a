# Written by hand; the blocking twin under _sync is generated from it.
"""What was given up here while the engine did not say that it heard: asked again until it does.

Never by the keeper: however many of them there are and however long each takes, renewals do not wait for them.
"""

from collections.abc import Callable, Iterable

from fencepost._runtime import aio as runtime
from fencepost._runtime.state import StateLock
from fencepost.contract._async.engine import AsyncEngine
from fencepost.core.backoff import backoff
from fencepost.core.claim import Ask, Claim, Request
from fencepost.core.lease import Terms
from fencepost.core.limit import patience
from fencepost.errors import EngineError, Refused, Unavailable
from fencepost.session._async.limit import AsyncLimit

Key = tuple[int, str]
# How many may be open before the session asks for nothing more: of one name, so that a name that hangs stops nobody
# but those who want it, and of all.
MOST_OF_A_NAME = 200
MOST = 1_000
# Of those that are refused: beyond that, a refusal is taken as final at once.
MOST_REFUSED = 100


class AsyncSettlement:
    """The open ends of one lease. They end with the lease at the latest, which `over` tells."""

    __slots__ = (
        "_busy",
        "_clock",
        "_dice",
        "_engine",
        "_name",
        "_open",
        "_over",
        "_refused_at",
        "_state",
        "_terms",
        "_working",
    )

    def __init__(
        self,
        engine: AsyncEngine,
        terms: Terms,
        *,
        clock: runtime.Clock,
        dice: Callable[[], float],
        over: runtime.Event,
        name: str,
    ) -> None:
        self._engine = engine
        self._terms = terms
        self._clock = clock
        self._dice = dice
        self._over = over
        self._name = name
        self._open: dict[Key, Request | Claim] = {}
        # Since when the engine refuses to hear of them.
        self._refused_at: dict[Key, float] = {}
        # Those of them that somebody asks for at this moment: nobody else is to do so beside.
        self._busy: set[Key] = set()
        self._state = StateLock()
        self._working = False

    async def settle(self, what: Request | Claim, until: float) -> EngineError | None:
        """Make sure that nothing of `what` is held or queued; the error, if that has to go on behind our back.

        Nothing is asked here if it is `until` already.
        """
        key = _key(what)
        self._busy.add(key)
        try:
            # Noted before asking, so that an interruption at any point leaves it noted.
            self._open[key] = what
            if self._clock.now() >= until:
                return Unavailable("the engine did not answer in time")
            return await self._give_up(what, until)
        finally:
            self._busy.discard(key)
            if key in self._open:
                self._hand_over()

    @property
    def is_open(self) -> bool:
        """Whether anything is open."""
        return bool(self._open)

    def check_room(self, asks: Iterable[Ask]) -> None:
        """Raise if so much is open already that nothing more is to be asked for."""
        names = {ask.name for ask in asks}
        kin = sum(not names.isdisjoint(_names(what)) for key, what in self._open.copy().items() if self._hangs(key))
        if kin >= MOST_OF_A_NAME or len(self._open) >= MOST:
            which = f"{kin} earlier asks for '{min(names)}'" if kin >= MOST_OF_A_NAME else f"{MOST} earlier asks"
            raise Unavailable(f"the engine did not confirm yet that {which} are withdrawn: nothing more is asked")

    def _hangs(self, key: Key) -> bool:
        """What is refused was heard: it keeps nobody from asking for more."""
        return key not in self._refused_at

    def _hand_over(self) -> None:
        try:
            # Inside: a signal may be taken on the way out of the `with`, too.
            with self._state:
                if self._working or self._over.is_set():
                    return
                self._working = True
            runtime.spawn(self._work, name=f"fencepost-settlement-{self._name}")
        except BaseException as error:
            # Whoever was interrupted may have begun it or not: two that ask do no harm.
            self._working = False
            # No more threads are to be had: the next one tries, and if there is none, the lease ends it.
            if not isinstance(error, RuntimeError):
                raise

    async def _work(self) -> None:
        attempt = 0
        try:
            while self._has_work():
                span = self._terms.span
                pause = backoff(attempt, self._dice(), first=span / 60, most=span / 6)
                if await self._clock.wait(self._over, self._clock.now() + pause):
                    return
                await self.settle_all()
                attempt += 1
        except BaseException:
            self._working = False
            raise

    def _has_work(self) -> bool:
        with self._state:
            self._working = bool(self._open.keys() - self._busy)
            return self._working

    async def settle_all(self) -> None:
        """Ask once for each that nobody else asks for; but of a name that hangs, only for the first."""
        stuck: set[str] = set()
        for key, what in self._open.copy().items():
            names = _names(what)
            if key in self._busy or self._over.is_set() or not stuck.isdisjoint(names):
                continue
            self._busy.add(key)
            try:
                error = await self._give_up(what, self._clock.now() + patience(self._terms))
                if error is not None and not isinstance(error, Refused):
                    stuck.update(names)
            except Exception:
                # Somebody's bug: who settles must not die of it, and goes on with the others.
                stuck.update(names)
            finally:
                self._busy.discard(key)

    async def _give_up(self, what: Request | Claim, until: float) -> EngineError | None:
        try:
            async with AsyncLimit(self._clock, until):
                if isinstance(what, Claim):
                    await self._engine.release(what)
                else:
                    await self._engine.withdraw(what)
        except EngineError as error:
            if isinstance(error, Refused) and isinstance(what, Request) and self._is_for_good(_key(what)):
                self._forget(_key(what))
            return error
        self._forget(_key(what))
        return None

    def _is_for_good(self, key: Key) -> bool:
        """A right that was taken away may be given back, and what was asked for may stand in a queue meanwhile. What is
        refused for as long as a lease lasts will not be heard any more. What was granted is held, refused or not.
        """
        now = self._clock.now()
        if len(self._refused_at) >= MOST_REFUSED:
            return True
        return now - self._refused_at.setdefault(key, now) >= self._terms.span

    def _forget(self, key: Key) -> None:
        self._open.pop(key, None)
        self._refused_at.pop(key, None)


def _key(what: Request | Claim) -> Key:
    return (what.serial, what.name if isinstance(what, Claim) else "")


def _names(what: Request | Claim) -> tuple[str, ...]:
    return (what.name,) if isinstance(what, Claim) else tuple(ask.name for ask in what.asks)
