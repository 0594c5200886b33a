"""What to tell whoever did not get the lock."""

from collections.abc import Sequence

from fencepost.core.claim import Ask, Claim
from fencepost.core.name import listed


def refusal(asks: Sequence[Ask], timeout: float, ahead: Sequence[Claim]) -> str:
    """One line: what was not acquired, in how long, and who has it."""
    names = listed([ask.name for ask in asks])
    what = f"lock {names}" if len(asks) == 1 else f"locks {names}"
    return f"{what} not acquired in {timeout:.1f} s: {_who(ahead)}"


def _who(ahead: Sequence[Claim]) -> str:
    holders = [claim for claim in ahead if claim.token is not None]
    if holders:
        first = f"held by {holders[0].holder} (token {holders[0].token})"
        return first if len(holders) == 1 else f"{first} and {len(holders) - 1} more"
    return f"queued behind {ahead[0].holder}" if ahead else "it was held"
