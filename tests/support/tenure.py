"""Who held a lock, and when, by its own deadline; and what must be true of all who held it."""

import itertools
from collections.abc import Iterable
from typing import Protocol

from fencepost._runtime.clock import boottime


class Held(Protocol):
    @property
    def token(self) -> int: ...
    @property
    def held(self) -> bool: ...


class Tenure:
    """One grant. It was held at `since` and still at `until`, on the clock that all processes of a host share.

    Both instants were noted *before* the grant was seen to be held. So they lie within the lease, also where the
    holder was stopped between looking at the clock and looking at the grant.
    """

    def __init__(self, grant: Held) -> None:
        self.token = grant.token
        self.since = self.until = 0.0
        self._grant = grant

    def goes_on(self) -> bool:
        """Whether it is still held; if so, that is noted."""
        now = boottime()
        if not self._grant.held:
            return False
        self.since, self.until = self.since or now, now
        return True

    def __repr__(self) -> str:
        return f"token {self.token} from {self.since:.4f} to {self.until:.4f}"


def check(tenures: Iterable[Tenure]) -> None:
    """No two held at once, and tokens grew in the order of grants."""
    seen = sorted((each for each in tenures if each.since), key=lambda each: each.since)
    for one, other in itertools.pairwise(seen):
        assert one.until < other.since, f"two held at once: {one} and {other}"
        assert one.token < other.token, f"tokens out of order: {one} and {other}"
