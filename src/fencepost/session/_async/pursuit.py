# Written by hand; the blocking twin under _sync is generated from it.
"""From asks to grants: claim, wait, and on every way out leave nothing behind."""

import math
from typing import NamedTuple

from fencepost._runtime import aio as runtime
from fencepost.contract.answer import Busy, Gone, Granted, Queued
from fencepost.core import event
from fencepost.core.claim import Ask, Claim, Mode, Request, admits, contradiction
from fencepost.core.name import listed
from fencepost.errors import Conflict, EngineError, Refused, Unavailable, Uncertain
from fencepost.session._async.grant import AsyncGrant
from fencepost.session._async.keeper import AsyncKeeper
from fencepost.session._async.limit import AsyncLimit
from fencepost.session._async.persistence import pause, sleep
from fencepost.session._async.presence import AsyncPresence

# How many leases in a row may be lost within their first span before the engine is called unusable.
MOST_SHORT_LEASES = 4


class Denial(NamedTuple):
    """Not granted: `ahead` was in the way for all of `waited` seconds. Nothing is held and nobody queued."""

    ahead: tuple[Claim, ...]
    waited: float


async def obtain(
    presence: AsyncPresence,
    asks: tuple[Ask, ...],
    timeout: float | None,
    taken: list[AsyncGrant],
    priority: int = 0,
    *,
    back_by: float = math.inf,
) -> Denial | None:
    """Put the grants into `taken`, or tell who was in the way when the time was over.

    The caller owns `taken` before anything is asked, so that an interruption on the way back finds the grants there.
    An engine that does not answer is asked again, with the same request, while time and lease last; and for another
    lease, if it has ever given one: a wrong address is not waited for. When the time is over nobody waits for it any
    longer: what it was asked is settled behind our back. `back_by` is for those who have more to ask, or asked before:
    it is back by then in any case.
    """
    now = presence.clock.now
    started_at = asked_at = now()
    until = math.inf if timeout is None else started_at + timeout
    farewell = presence.limits.farewell
    answer_by = min(presence.limits.back_by(started_at, timeout), back_by)
    short_leases = 0
    while True:
        keeper = presence.keeper_at(asked_at)
        if keeper is None:
            presence.check_open()
            open_by = asked_at + presence.terms.span
            # The other half is for closing what may be open.
            async with AsyncLimit(presence.clock, min(answer_by - farewell / 2, open_by)):
                keeper = await _open(presence, min(until, open_by))
        if keeper.settlement.is_open:
            keeper.settlement.check_room(asks)
        request = keeper.request(asks, priority)
        try:
            answer = await _claim(presence, keeper, request, until, answer_by)
            queued = isinstance(answer, Queued)
            if isinstance(answer, Queued):
                if answer.ahead:
                    _check_agreement(request, answer)
                if timeout is None and keeper.kept:
                    _check_not_waiting_for_itself(keeper, request)
                answer = await _queue(presence, keeper, answer, until, answer_by)
            if isinstance(answer, Granted):
                presence.credence.check(request, answer.tokens)
                granted_at = now()
                grants = keeper.adopt(request, answer.tokens, granted_at)
                if keeper.proven_at(granted_at):
                    taken.extend(grants)
                    waited = granted_at - started_at
                    presence.tally.grant(waited if queued else None)
                    if presence.courtesy.wishes:
                        presence.courtesy.fulfil(grants)
                    if event.Granted in presence.announce.wanted:
                        _announce(presence, grants, waited)
                    return None
            elif isinstance(answer, Busy):
                _check_agreement(request, answer)
                presence.tally.denial()
                return Denial(answer.ahead, now() - started_at)
            elif isinstance(answer, Gone):
                presence.check_open()
                keeper.lose(f"the engine no longer has its lease: {answer.reason}")
            leave_by = min(now() + presence.limits.answer, answer_by)
            unsettled = await _leave(keeper, request, leave_by)
            if isinstance(answer, Queued) and now() >= until:
                # The time is over, whether or not the engine has confirmed already that nothing is left.
                ahead = answer.ahead if unsettled is not None else await _ahead(presence, answer, leave_by)
                presence.tally.denial()
                return Denial(ahead, now() - started_at)
        except BaseException as error:
            # Who was interrupted is in a hurry; who was told of no answer has waited for it.
            patience = presence.limits.answer if isinstance(error, Exception) else farewell
            unsettled = await runtime.shielded(_leave(keeper, request, min(now() + patience, answer_by)))
            if unsettled is not None and isinstance(error, Unavailable):
                raise Uncertain(_not_confirmed(request, unsettled)) from error
            raise
        # The lease was lost while we asked: ask again under a new one.
        short_leases = short_leases + 1 if now() - asked_at < presence.terms.span else 0
        if short_leases >= MOST_SHORT_LEASES:
            ttl = presence.terms.ttl
            raise Unavailable(f"the engine lost {short_leases} leases in a row: is a ttl of {ttl:g} s too short?")
        asked_at = now()


async def _open(presence: AsyncPresence, until: float) -> AsyncKeeper:
    now = presence.clock.now
    attempt = 0
    while True:
        try:
            return await presence.keeper()
        except Unavailable:
            again_at = now() + pause(presence, attempt)
            attempt += 1
            if not presence.had_lease or again_at >= until:
                raise
            await sleep(presence, again_at)


async def _claim(
    presence: AsyncPresence, keeper: AsyncKeeper, request: Request, until: float, answer_by: float
) -> Granted | Queued | Busy | Gone:
    """Ask, and ask again while the answer is lost: the same request is answered the same."""
    now = presence.clock.now
    attempt = 0
    while True:
        try:
            asked_at = now()
            if answer_by == math.inf:
                return await presence.engine.claim(request, wait=asked_at < until)
            # The engine's own patience is for one exchange with a server, and a claim may take several.
            async with AsyncLimit(presence.clock, answer_by):
                return await presence.engine.claim(request, wait=asked_at < until)
        except Unavailable:
            again_at = now() + pause(presence, attempt)
            attempt += 1
            if again_at >= min(until, keeper.ends_at):
                raise
            if await presence.clock.wait(keeper.ended, again_at):
                return Gone("it ended while the engine did not answer")


async def _queue(
    presence: AsyncPresence, keeper: AsyncKeeper, queued: Queued, until: float, answer_by: float
) -> Granted | Queued | Busy | Gone:
    """Stand in the queue until granted, out of time, or without a lease."""
    now = presence.clock.now
    request = queued.request
    waiting = presence.tally.waiting
    waiting.append(request)
    if event.Waiting in presence.announce.wanted:
        names = tuple(ask.name for ask in request.asks)
        presence.announce(event.Waiting(holder=keeper.holder.label, names=names))
    try:
        answer: Granted | Queued | Busy | Gone = queued
        while isinstance(answer, Queued):
            # No longer than the lease is proven: a waiter cut off from the engine must not wait for ever.
            asked_at = now()
            left = min(until, keeper.ends_at) - asked_at
            if left <= 0 or not keeper.proven_at(asked_at):
                return answer
            try:
                # It comes back at `until` by itself, if it can.
                async with AsyncLimit(presence.clock, answer_by):
                    answer = await presence.engine.wait(answer, left)
            except Unavailable:
                answer = await _claim(presence, keeper, request, until, answer_by)
        return answer
    finally:
        waiting.pop()


def _check_agreement(request: Request, refused: Queued | Busy) -> None:
    other = contradiction(request.asks, refused.ahead)
    if other is not None:
        raise Conflict(
            f"'{other.name}' is counted up to {other.ask.limit} by {other.holder}, and something else is asked here: "
            "agree on one limit, or use another name"
        )


def _check_not_waiting_for_itself(keeper: AsyncKeeper, request: Request) -> None:
    here = keeper.held_here()
    for ask in request.asks:
        held = [grant for grant in here if grant.name == ask.name]
        if not admits([grant.claim.ask for grant in held], ask):
            reentrant = "" if ask.mode is Mode.COUNTED else "use a reentrant lock, "
            raise Conflict(
                f"'{ask.name}' is held by the block this runs in (token {held[-1].token}), and would wait for itself "
                f"for ever: leave the block first, {reentrant}or give a timeout"
            )


async def _leave(keeper: AsyncKeeper, request: Request, until: float) -> EngineError | None:
    """Leave nothing of the request; what the engine raised if it did not confirm that by then."""
    keeper.disown_all(request)
    error = await keeper.settlement.settle(request, until)
    if error is not None and not isinstance(error, Refused) and not keeper.closed:
        names = tuple(ask.name for ask in request.asks)
        keeper.announce(event.Unsettled(holder=keeper.holder.label, names=names, reason=str(error)))
    return error


def _not_confirmed(request: Request, error: EngineError) -> str:
    names = listed([ask.name for ask in request.asks])
    return (
        f"lock {names} not acquired, and the engine did not confirm that the ask is withdrawn: "
        f"it ends with the lease at the latest ({error})"
    )


async def _ahead(presence: AsyncPresence, queued: Queued, until: float) -> tuple[Claim, ...]:
    """Who is in the way: the holders, rather than whoever stands before us in the queue."""
    if any(claim.token is not None for claim in queued.ahead):
        return queued.ahead
    try:
        async with AsyncLimit(presence.clock, until):
            snapshot = await presence.engine.look(queued.request.asks[0].name)
    except EngineError:
        return queued.ahead
    return tuple(standing.claim for standing in snapshot.holders) or queued.ahead


def _announce(presence: AsyncPresence, grants: tuple[AsyncGrant, ...], waited: float) -> None:
    for grant in grants:
        presence.announce(event.Granted(holder=grant.holder.label, name=grant.name, token=grant.token, waited=waited))
