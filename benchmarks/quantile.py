"""Summaries of samples."""

import math
from collections.abc import Sequence
from typing import NamedTuple


def quantile(samples: Sequence[float], share: float) -> float:
    """The sample that `share` of all are not above (nearest rank)."""
    ordered = sorted(samples)
    return ordered[max(0, math.ceil(len(ordered) * share) - 1)]


def median(samples: Sequence[float]) -> float:
    return quantile(samples, 0.5)


class Spread(NamedTuple):
    """The middle and the tail."""

    p50: float
    p99: float


def spread(samples: Sequence[float]) -> Spread:
    return Spread(quantile(samples, 0.5), quantile(samples, 0.99))


def share(counts: Sequence[int]) -> float:
    """The largest share divided by the smallest; a worker that got nothing counts as half a cycle."""
    return max(counts) / max(min(counts), 0.5)
