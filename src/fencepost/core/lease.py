"""The arithmetic of leases.

A lease is counted from the instant its request was *sent*: the engine can only have started counting
later, so the holder always gives up first. From the engine's time to live come off a drift allowance
(two clocks never run at quite the same rate) and the margin the user asked for: what is left is the
span in which the holder may act.

    sent                                              the engine may grant another
     |———————————————— span ————————————————|— margin —|— drift —|
     |   renew at a third of the span       ends_at
"""

from dataclasses import dataclass
from enum import StrEnum

from fencepost.core.duration import check_seconds

DRIFT_RATE = 0.01
DRIFT_LEAST = 0.002
LEAST_SPAN = 0.02
# A renewal that gets lost leaves time for two more.
RENEWALS = 3


class Standing(StrEnum):
    """How a holder stands: proven, proven but renewals fail, or no longer proven."""

    HELD = "held"
    JEOPARDY = "jeopardy"
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class Terms:
    """What a session asks of every lease it opens."""

    ttl: float
    margin: float = 0.0

    def __post_init__(self) -> None:
        check_seconds(self.ttl, "ttl")
        check_seconds(self.margin, "margin")
        if self.ttl <= 0:
            raise ValueError("ttl must be more than 0 s: it is how long the lock outlives a dead holder")
        if self.span < LEAST_SPAN:
            raise ValueError(
                f"ttl {self.ttl:g} s less margin {self.margin:g} s and drift {self.drift:g} s leaves no lease: "
                f"use a longer ttl or a margin below {max(0.0, self.ttl - self.drift - LEAST_SPAN):.3g} s"
            )

    @property
    def drift(self) -> float:
        return self.ttl * DRIFT_RATE + DRIFT_LEAST

    @property
    def span(self) -> float:
        """How long after the send the holder may act."""
        return self.ttl - self.drift - self.margin

    def ends_at(self, sent_at: float) -> float:
        return sent_at + self.span

    @property
    def period(self) -> float:
        """How often the lease is renewed."""
        return self.span / RENEWALS

    def renew_at(self, sent_at: float) -> float:
        return sent_at + self.period


def standing(now: float, ends_at: float, *, failing: bool) -> Standing:
    if now >= ends_at:
        return Standing.LOST
    return Standing.JEOPARDY if failing else Standing.HELD
