"""The generic cell rate algorithm: a rate limit whose whole state is one instant.

That instant says until when what was taken so far keeps the limiter busy. It is in the time of whoever
keeps it: nobody else's clock comes in.
"""

from typing import NamedTuple

from fencepost.core.duration import check_seconds
from fencepost.core.permit import check_count

# Clocks of engines count microseconds: a shorter interval would be none, and the limit no limit.
LEAST_INTERVAL = 1e-6


class Rate(NamedTuple):
    """One every `interval` seconds, and after a pause up to `burst` at once."""

    interval: float
    burst: int


def check_rate(limit: int, per: float) -> Rate:
    """`limit` in any `per` seconds."""
    check_count(limit, "limit of a rate")
    if check_seconds(per, "per") <= 0:
        raise ValueError(f"a rate is per more than 0 s, got {per:g}")
    # But for the rounding.
    if per / limit < LEAST_INTERVAL * 0.999:
        raise ValueError(f"a rate is at most {1 / LEAST_INTERVAL:,.0f} in a second, got {limit} per {per:g} s")
    return Rate(per / limit, limit)


def taken(busy_until: float, now: float, rate: Rate, weight: int) -> tuple[float, float]:
    """Until when it is busy after taking `weight`, and 0.0; or as before, and how long to wait for that."""
    after = max(busy_until, now) + weight * rate.interval
    wait = after - now - rate.burst * rate.interval
    # Less than a nanosecond is a rounding error of the sum, not a time to wait.
    return (after, 0.0) if wait < 1e-9 else (busy_until, wait)
