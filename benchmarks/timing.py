"""Samples of one contestant, round by round, and how two contestants compare."""

from dataclasses import dataclass, field

from benchmarks.quantile import median


@dataclass(slots=True)
class Times:
    """All samples of one contestant in µs, and the median of each round: what ratios are made of."""

    samples: list[float] = field(default_factory=list)
    rounds: list[float] = field(default_factory=list)

    def add(self, nanoseconds: list[int]) -> None:
        batch = [sample / 1000 for sample in nanoseconds]
        self.samples += batch
        self.rounds.append(median(batch))


def ratio(one: Times, other: Times) -> float:
    """The middle of the ratios round by round, so that a drift of the machine's speed cancels out."""
    return median([a / b for a, b in zip(one.rounds, other.rounds, strict=True)])
