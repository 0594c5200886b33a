"""Processes want the same lock all the time and hold it for no time: throughput, and who gets how much."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.contestant import Contestant
from benchmarks.quantile import median, share
from benchmarks.report import Section, Target
from benchmarks.troop import Troop


@dataclass(frozen=True, slots=True)
class Contention:
    """`counts`: the cycles that each process completed, round by round, of each contestant."""

    counts: dict[str, list[list[int]]]
    processes: int
    rounds: int
    seconds: float

    @property
    def title(self) -> str:
        return f"b. {self.processes} contending processes, no hold time"

    @property
    def rate(self) -> dict[str, float]:
        """Acquisitions per second, the middle of the rounds."""
        return {name: median([sum(each) / self.seconds for each in runs]) for name, runs in self.counts.items()}

    @property
    def shares(self) -> dict[str, float]:
        """The largest share divided by the smallest, the middle of the rounds."""
        return {name: median([share(each) for each in runs]) for name, runs in self.counts.items()}

    def section(self, peer: str, called: str, targets: Sequence[Target]) -> Section:
        rate, shares = self.rate, self.shares
        return Section(
            title=self.title,
            how=f"unpinned, {self.rounds} rounds of {self.seconds:g} s each in shuffled order, all at it 0.2 s before, "
            "the middle of the rounds; only cycles complete inside the window count",
            headings=("", "acquisitions/s", f"÷ {called}", "largest ÷ smallest share"),
            rows=[
                (name, f"{each:,.0f}", f"{each / max(rate[peer], 1):.2f}", f"{shares[name]:.2f}")
                for name, each in rate.items()
            ],
            targets=targets,
            figures={
                name: {"per_second": rate[name], "share": shares[name], "cycles": cycles}
                for name, cycles in self.counts.items()
            },
        )


def contend(
    kinds: Mapping[str, type[Contestant]],
    place: Any,
    dice: random.Random,
    *,
    processes: int,
    rounds: int,
    seconds: float,
) -> Contention:
    """Each contestant that works across processes, in shuffled rounds."""
    names = [name for name, kind in kinds.items() if kind.across_processes]
    counts: dict[str, list[list[int]]] = {name: [] for name in names}
    with Troop(processes) as troop:
        for _ in range(rounds):
            for name in dice.sample(names, len(names)):
                counts[name].append(troop.with_open(kinds[name], place, lambda: troop.contend(seconds)))
    return Contention(counts, processes, rounds, seconds)
