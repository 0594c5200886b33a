"""How long a caller waits for an engine that does not answer.

A call with a time-out is back by then. What is unknown at that moment is settled behind the caller's back.
"""

import math
from typing import NamedTuple

from fencepost.core.lease import Terms

MOST_PATIENCE = 5.0
ANSWER = 1.0
FAREWELL = 0.1


class Limits(NamedTuple):
    """In seconds.

    `call`: a call that has no time-out of its own, such as a release or a look.
    `answer`: what an engine that is there may take to answer, where there is no time-out: a try is no try without it.
    `farewell`: how long a caller whose time is over, or who was interrupted, stays to see that nothing is left.
    `close`: closing the session.
    """

    call: float
    answer: float
    farewell: float
    close: float

    def back_by(self, now: float, timeout: float | None) -> float:
        """When a call that begins now is back, whatever the engine does."""
        if timeout is None:
            return math.inf
        return now + (timeout + self.farewell if timeout else self.answer)


def patience(terms: Terms) -> float:
    """How long one exchange with a server may take: so short that renewals can be tried again in time."""
    return min(MOST_PATIENCE, terms.period)


def limits(terms: Terms) -> Limits:
    return Limits(max(ANSWER, patience(terms)), ANSWER, FAREWELL, max(ANSWER, terms.ttl / 10))
