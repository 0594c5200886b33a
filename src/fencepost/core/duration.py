"""Durations: float seconds, never negative, never NaN."""

import math


def check_seconds(value: float, what: str) -> float:
    """`value` as finite seconds, zero or more."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{what} is a number of seconds, not {type(value).__name__}")
    if math.isnan(value):
        raise ValueError(f"{what} must be a number of seconds, not NaN")
    if value < 0:
        raise ValueError(f"{what} must not be negative, got {value:g} s")
    if math.isinf(value):
        raise ValueError(f"{what} must be finite: use None where no limit is meant")
    return float(value)


def check_timeout(value: float | None, what: str = "timeout") -> float | None:
    """`None` waits for ever, 0 tries once."""
    return None if value is None else check_seconds(value, what)
