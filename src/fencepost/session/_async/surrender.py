# Written by hand; the blocking twin under _sync is generated from it.
"""Several grants given back in one call. It knows a grant from inside: what it needs of one is not for users."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fencepost._runtime import aio as runtime
from fencepost.core import event
from fencepost.core.claim import Claim
from fencepost.core.name import listed
from fencepost.errors import EngineError, FencepostError, Uncertain
from fencepost.session._async.grant import AsyncGrant

if TYPE_CHECKING:
    from fencepost.session._async.keeper import AsyncKeeper


def of_one_request(grants: Sequence[AsyncGrant]) -> list[AsyncGrant]:
    """Those that one call can give back, all still held; none if the engine does not keep them together."""
    held = [grant for grant in grants if grant.held and grant._depth == 1]
    together = len({(grant.holder.id, grant.claim.serial) for grant in held}) == 1
    return held if len(held) > 1 and together and held[0]._keeper.engine.traits.together else []


async def release_together(grants: Sequence[AsyncGrant]) -> FencepostError | None:
    """Give back the grants of one request, in one call; what went wrong with any of them.

    As with one alone: what the engine does not confirm is settled one by one.
    """
    keeper = grants[0]._keeper
    keeper.check_home()
    claims = [grant.claim for grant in grants]
    began_at = keeper.now()
    try:
        _end(keeper, grants)
        kept = await keeper.engine.release_all(claims)
    except BaseException as error:
        # A thread may have been interrupted before it had said so here.
        _end(keeper, grants)
        unsettled = await runtime.shielded(_settle(keeper, claims, keeper.settle_by(began_at, error)))
        if unsettled is None and isinstance(error, EngineError):
            return None
        names = tuple(claim.name for claim in claims)
        if unsettled is not None:
            keeper.announce(event.Unsettled(holder=keeper.holder.label, names=names, reason=str(unsettled)))
        if isinstance(error, EngineError):
            uncertain = Uncertain(
                f"locks {listed(names)} were given up here, but the engine did not answer: "
                f"they are free within {keeper.terms.ttl:g} s at the latest ({error})"
            )
            uncertain.__cause__ = error
            return uncertain
        raise
    failure: FencepostError | None = None
    for grant, was_held in zip(grants, kept, strict=True):
        if was_held:
            await grant._after_release()
        else:
            failure = failure or grant._lost_unheard()
    return failure


async def let_go(grant: AsyncGrant, until: float) -> None:
    """Give it up quietly, and be back by then: what the engine did not confirm is settled behind our back."""
    keeper = grant._keeper
    if grant.released or not keeper.is_ours:
        return
    try:
        _end(keeper, [grant])
        unsettled = await keeper.settlement.settle(grant.claim, until)
    except BaseException:
        # A thread that was interrupted: others do this shielded.
        _end(keeper, [grant])
        await runtime.shielded(keeper.settlement.settle(grant.claim, min(until, keeper.now() + keeper.limits.farewell)))
        raise
    grant._announce_unsettled(unsettled)
    if unsettled is None:
        await grant._after_release()


def _end(keeper: "AsyncKeeper", grants: Sequence[AsyncGrant]) -> None:
    """Here, they are given up from now on."""
    for grant in grants:
        keeper.disown(grant.claim)
        grant.end_by_release()


async def _settle(keeper: "AsyncKeeper", claims: Sequence[Claim], until: float) -> EngineError | None:
    found: EngineError | None = None
    for claim in claims:
        found = await keeper.settlement.settle(claim, until) or found
    return found
