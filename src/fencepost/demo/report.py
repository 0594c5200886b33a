"""What the rounds showed, and whether that is what they should."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from fencepost.demo.posting import Fencing

HEADINGS = ("round", "pauses", "acked", "surviving", "lost", "refused")


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One round. `surviving` counts the acknowledged entries that are in the ledger at the end."""

    fencing: Fencing
    seconds: float
    pauses: int
    overtaken: int
    acknowledged: int
    surviving: int
    refused: int
    losses_noticed: int
    troubles: tuple[str, ...] = ()

    @property
    def lost(self) -> int:
        return self.acknowledged - self.surviving

    @property
    def lost_share(self) -> float:
        return self.lost / self.acknowledged if self.acknowledged else 0.0

    def row(self) -> tuple[str, ...]:
        share = f"{self.lost} ({self.lost_share:.1%})"
        return (str(self.fencing), *map(str, (self.pauses, self.acknowledged, self.surviving, share, self.refused)))

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "lost": self.lost, "lost_share": round(self.lost_share, 4)}


def faults(outcomes: Sequence[Outcome]) -> list[str]:
    """Why the demonstration failed; nothing if it did not."""
    found = []
    rounds = {outcome.fencing: outcome for outcome in outcomes}
    for fencing in Fencing:
        if fencing not in rounds:
            found.append(f"the round '{fencing}' is missing")
        elif rounds[fencing].overtaken == 0:
            found.append(f"the round '{fencing}' shows nothing: no paused holder was overtaken")
    bare, full = rounds.get(Fencing.NONE), rounds.get(Fencing.READS_AND_WRITES)
    if bare is not None and bare.lost == 0:
        found.append("the round without a fence lost nothing, so nothing was shown: try --seconds 10")
    if full is not None and full.lost > 0:
        found.append(f"the fully fenced round lost {full.lost} acknowledged updates: this is a bug in fencepost")
    return found


def table(outcomes: Sequence[Outcome]) -> str:
    """The rounds in columns, for a terminal without colours."""
    rows = [HEADINGS, *(outcome.row() for outcome in outcomes)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADINGS))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join((lines[0], "-" * len(lines[0]), *lines[1:]))


def moral(outcomes: Sequence[Outcome]) -> str:
    """One sentence per round."""
    words = {
        Fencing.NONE: "the paused holder woke up, believed it still held the lock, and wrote",
        Fencing.WRITES: "its writes were refused once a newer token had written, which is sometimes too late",
        Fencing.READS_AND_WRITES: "the new holder shows its token before it reads: nothing older can write after that",
    }
    return "\n".join(f"{each.fencing}: lost {each.lost_share:.1%}; {words[each.fencing]}" for each in outcomes)
