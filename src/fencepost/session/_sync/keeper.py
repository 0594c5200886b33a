# Generated from src/fencepost/session/_async/keeper.py by tools/unasync.py. Do not edit: run `make gen`.
"""Keeps one lease alive, and tells every grant on it the moment it is not.

The time model. A renewal that is answered proves the lease until its *send* plus the span (see core.lease).
Renewals go out every third of the span, all grants in one call. While they fail the lease is in jeopardy:
still proven, tried again with back-off. When the span ends unrenewed the lease is lost, by an alarm that
depends on no answer. A lost lease never comes back: the session opens a new one, with another holder id.
"""

import itertools
from collections.abc import Callable

from fencepost._runtime import threads as runtime
from fencepost._runtime import fork
from fencepost._runtime.clock import LONGEST_NAP
from fencepost._runtime.state import StateLock
from fencepost.contract._sync.engine import Engine
from fencepost.contract.answer import Renewal
from fencepost.contract.loss import TellsLoss
from fencepost.core import event
from fencepost.core.backoff import backoff
from fencepost.core.claim import Ask, Claim, Request
from fencepost.core.holder import Holder
from fencepost.core.lease import Standing, Terms, standing
from fencepost.core.limit import Limits
from fencepost.errors import EngineError, NotHeld, SessionClosed
from fencepost.session._sync.courtesy import Courtesy
from fencepost.session._sync.grant import Grant
from fencepost.session._sync.limit import Limit
from fencepost.session._sync.settlement import Settlement
from fencepost.session.announcer import Announcer
from fencepost.session.statistics import Tally
from fencepost.session.trust import verdict

# A NamedTuple, without the two calls that its own constructor takes.
made = tuple.__new__


class Keeper:
    def __init__(
        self,
        engine: Engine,
        holder: Holder,
        terms: Terms,
        *,
        clock: runtime.Clock,
        dice: Callable[[], float],
        announce: Announcer,
        tally: Tally,
        courtesy: Courtesy,
        limits: Limits,
    ) -> None:
        self.engine = engine
        self.holder = holder
        self.terms = terms
        self.announce = announce
        self.courtesy = courtesy
        self.limits = limits
        self.lost = runtime.Event()
        self.ends_at = 0.0
        self.now = clock.now
        self._clock = clock
        self._dice = dice
        self._tally = tally
        self._failing = False
        # None while the lease lives, else why it does not.
        self._end: str | None = "it was not opened"
        # None unless it was lost, then why.
        self._loss: str | None = None
        self._ending = StateLock()
        self._closed = False
        # Whether the engine was told so, or did not answer.
        self._left = False
        # The grants that live on the lease, by serial and name.
        self.kept: dict[tuple[int, str], Grant] = {}
        self._serials = itertools.count(1)
        self._stop = runtime.Event()
        self.settlement = Settlement(engine, terms, clock=clock, dice=dice, over=self._stop, name=holder.label)
        # Set when the lease was opened, or will not be.
        self._opened = runtime.Event()
        self._alarm: runtime.Alarm | None = None
        self._worker: runtime.Worker | None = None
        self._generation = fork.generation()
        self._home = runtime.home()

    def open(self) -> None:
        sent_at = self.now()
        if isinstance(self.engine, TellsLoss):
            self.engine.on_loss = self._told
        try:
            self.engine.lease_open(self.holder, self.terms.ttl)
            with self._ending:
                # Unless the session was closed meanwhile.
                if not self._closed:
                    self.ends_at = self.terms.ends_at(sent_at)
                    self._end = None
            self.check_open()
            self._alarm = self._clock.alarm(self.ends_at, self._ring)
            self._worker = runtime.spawn(self._keep, name=f"fencepost-keeper-{self.holder.label}")
            self.announce(event.LeaseOpened(holder=self.holder.label, ttl=self.terms.ttl))
        except BaseException as error:
            self._finish("opening it was interrupted")
            self._disarm()
            runtime.shielded(self._close_lease(self.now() + self.limits.farewell / 2))
            if isinstance(error, EngineError) and (told := verdict(error)) is not error:
                raise told from told.__cause__
            raise

    @property
    def ended(self) -> runtime.Event:
        """Set when the lease was lost, and also when it was closed."""
        return self._stop

    @property
    def over(self) -> bool:
        """Whether it was opened once, or tried to be, and has ended. Tells nobody, as `proven` does."""
        return self._opened.is_set() and self._end is not None

    def opened(self) -> bool:
        """Whether the lease was opened, once whoever opens it has come to an end; False if that takes too long."""
        while not self._opened.is_set() and (left := runtime.time_left()) > 0:
            self._opened.wait(min(left, LONGEST_NAP))
        return self.proven()

    def abandon(self) -> None:
        """Nobody opens it any more."""
        self._opened.set()

    def close(self, until: float) -> None:
        """Give back everything, in one call. If the engine does not answer, the lease runs out by itself."""
        if self._left or fork.generation() != self._generation:
            return
        if self._finish("the session was closed"):
            self._disarm()
            for grant in self._take_grants():
                grant.end_by_release()
        with self._ending:
            self._closed = True
        self._stop.set()
        # Also after a loss: nobody works under it any more, so whoever waits need not wait for its end.
        runtime.shielded(self._close_lease(until))
        self._left = True
        if self._worker is not None:
            self._worker.cancel()
            self._worker.join(max(0.0, until - self.now()))

    def _close_lease(self, until: float) -> EngineError | None:
        try:
            with Limit(self._clock, until):
                self.engine.lease_close(self.holder)
        except EngineError as error:
            # Nobody renews it any more, so it ends by itself.
            return error
        return None

    def settle_by(self, began_at: float, error: BaseException) -> float:
        """Until when a call that began then, and ended so, may go on to settle what it left open."""
        return began_at + self.limits.call if isinstance(error, Exception) else self.now() + self.limits.farewell

    # Whether the lease lives

    @property
    def closed(self) -> bool:
        """Whether the lease was closed, which leaves nothing of it, or left to end by itself."""
        return self._closed

    def check_open(self) -> None:
        if fork.generation() != self._generation:
            raise NotHeld("this grant is the parent process's: what the child of a fork wants to hold, it must acquire")
        if self._closed:
            raise SessionClosed("the session is closed: connect again")

    @property
    def is_ours(self) -> bool:
        """Whether it is of this process and not closed, so that there may be something to give back."""
        return not self._closed and fork.generation() == self._generation

    def check_home(self) -> None:
        """Before anything is asked on behalf of a grant."""
        if runtime.home() is not self._home:
            self.check_open()
            raise SessionClosed("this grant belongs to another event loop: release it there")

    def proven(self) -> bool:
        """Whether the lease provably lives now."""
        return self.proven_at(self.now())

    def proven_at(self, now: float) -> bool:
        """The same, for those who have just looked at the clock."""
        if self._end is None and now >= self.ends_at:
            self._expire()
        return self._end is None and fork.current == self._generation

    def standing(self) -> Standing:
        return standing(self.now(), self.ends_at, failing=self._failing) if self.proven() else Standing.LOST

    def remaining(self) -> float:
        return max(0.0, self.ends_at - self.now())

    def lose(self, reason: str) -> None:
        """The lease is gone, and with it every grant."""
        self._announce_all(self._lose(reason))

    def _told(self, holder_id: str, reason: str) -> None:
        if holder_id == self.holder.id and (news := self._lose(reason)):
            # The engine may hear of other losses where it tells of this one: no listener is to keep it.
            runtime.aside(lambda: self._announce_all(news), name=f"fencepost-news-{self.holder.label}")

    def _lose(self, reason: str) -> list[event.Event]:
        """The lease is gone, and every grant knows. What is to be announced: no listener delays a grant's loss."""
        first = self._finish(reason, loss=True)
        if self._loss is None:
            return []
        # Not only the first: if it is interrupted, the alarm tells those that are left.
        news = self._end_grants(self.kept.copy(), self._loss)
        self.lost.set()
        self._disarm()
        if first:
            news.append(event.LeaseLost(holder=self.holder.label, reason=reason))
        return news

    def _end_grants(self, grants: dict[tuple[int, str], Grant], reason: str) -> list[event.Event]:
        """Tell each that it is lost; what is to be announced of that."""
        news: list[event.Event] = []
        for key, grant in grants.items():
            first = grant.end_by_loss(reason)
            if self.kept.pop(key, None) is not None and first:
                self._tally.loss()
                news.append(self._news_of(grant, reason))
        return news

    def _announce_all(self, news: list[event.Event]) -> None:
        for each in news:
            self.announce(each)

    def _finish(self, reason: str, *, loss: bool = False) -> bool:
        """End the lease, once; whether this call was the one."""
        with self._ending:
            if self._end is not None:
                return False
            self._loss = reason if loss else None
            self._end = reason
        self._stop.set()
        return True

    def _disarm(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()

    def _expire(self) -> None:
        if fork.generation() == self._generation:
            self.lose(f"its lease of {self.terms.ttl:g} s was not renewed in time")

    def _ring(self) -> None:
        if self._end is not None or self.now() >= self.ends_at:
            self._expire()
        else:
            self._alarm = self._clock.alarm(self.ends_at, self._ring)

    # Renewal

    def _keep(self) -> None:
        due = self._renew_at()
        attempt = 0
        while not self._clock.wait(self._stop, due) and self.proven():
            if self._renew():
                attempt = 0
                due = self._renew_at()
            else:
                due = self.now() + backoff(attempt, self._dice(), first=self.terms.span / 30, most=self.terms.span / 6)
                attempt += 1

    def _renew_at(self) -> float:
        return self.terms.renew_at(self.ends_at - self.terms.span)

    def _renew(self) -> bool:
        """One renewal of everything; whether the engine answered."""
        claims = [grant.claim for grant in self.grants()]
        sent_at = self.now()
        try:
            self._renewed(sent_at, self.engine.lease_renew(self.holder, self.terms.ttl, claims))
        except Exception as error:
            # Not only an EngineError: a keeper that died of somebody's bug would lose everything in silence.
            self._tally.renewal(failed=True)
            self._in_jeopardy(error)
            return False
        self._tally.renewal(failed=False)
        if event.Renewed in self.announce.wanted:
            took = self.now() - sent_at
            self.announce(event.Renewed(holder=self.holder.label, claims=len(claims), took=took))
        return True

    def _in_jeopardy(self, error: Exception) -> None:
        self._failing = True
        if self._end is None:
            reason = str(error) or type(error).__name__
            self.announce(event.Jeopardy(holder=self.holder.label, reason=reason, remaining=self.remaining()))

    def _renewed(self, sent_at: float, renewal: Renewal) -> None:
        if self._end is not None:
            return
        if not renewal.alive:
            self.lose("the engine no longer has its lease")
            return
        self.ends_at = self.terms.ends_at(sent_at)
        news: list[event.Event] = []
        for serial, name, reason in renewal.gone:
            grant = self.kept.get((serial, name))
            if grant is not None:
                news += self._end_grants({(serial, name): grant}, reason)
        self._announce_all(news)
        if self._failing:
            self._failing = False
            self.announce(event.Recovered(holder=self.holder.label))

    # The grants that live on the lease

    def request(self, asks: tuple[Ask, ...], priority: int = 0) -> Request:
        return made(Request, (self.holder, next(self._serials), asks, priority))

    def adopt(self, request: Request, tokens: tuple[int, ...], granted_at: float) -> tuple[Grant, ...]:
        """The grants of a request that the engine granted, from now on kept alive."""
        holder, serial, asks, _ = request
        grants = []
        for ask, token in zip(asks, tokens, strict=True):
            grant = Grant(self, made(Claim, (holder, serial, ask, token)), token, granted_at)
            self.kept[serial, ask.name] = grant
            grants.append(grant)
        return tuple(grants)

    def disown(self, claim: Claim) -> None:
        self.kept.pop((claim.serial, claim.ask.name), None)

    def disown_all(self, request: Request) -> None:
        for ask in request.asks:
            grant = self.kept.pop((request.serial, ask.name), None)
            if grant is not None:
                grant.end_by_release()

    def held_here(self) -> list[Grant]:
        """The grants whose blocks this thread or task is in."""
        if not self.kept:
            return []
        flow = runtime.current_flow()
        return [grant for grant in self.grants() if grant.flow is flow]

    def grants(self) -> list[Grant]:
        return list(self.kept.values())

    def _take_grants(self) -> list[Grant]:
        taken = self.grants()
        self.kept.clear()
        return taken

    def lose_grant(self, grant: Grant, reason: str) -> None:
        if grant.end_by_loss(reason):
            self._tally.loss()
            self.announce(self._news_of(grant, reason))

    def _news_of(self, grant: Grant, reason: str) -> event.Lost:
        return event.Lost(holder=self.holder.label, name=grant.name, token=grant.token, reason=reason)
