"""Durations: float seconds, never negative, never NaN."""

import math

from fencepost.core.shown import shown

# 30 years. Longer ones fit neither into the timers of an operating system nor into the milliseconds of a server.
MOST_SECONDS = 1e9


def check_seconds(value: float, what: str) -> float:
    """`value` as finite seconds, zero or more."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{what} is a number of seconds, not {type(value).__name__}")
    if 0 <= value <= MOST_SECONDS:
        return float(value)
    # A whole number may be too large for a float, so it is compared and never converted.
    if value < 0:
        raise ValueError(f"{what} must not be negative, got {shown(value)} s")
    if value == math.inf:
        raise ValueError(f"{what} must be finite: use None where no limit is meant")
    if value > MOST_SECONDS:
        raise ValueError(
            f"{what} is at most {MOST_SECONDS:g} s, got {shown(value)} s: use None where no limit is meant"
        )
    raise ValueError(f"{what} must be a number of seconds, not NaN")


def check_timeout(value: float | None, what: str = "timeout") -> float | None:
    """`None` waits for ever, 0 tries once."""
    return None if value is None else check_seconds(value, what)
