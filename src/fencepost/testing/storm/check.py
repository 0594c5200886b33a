"""What must be true of every history, whatever the nemesis did: pure functions, each of which returns what it found.

Nobody holds what excludes what another holds; tokens grow in the order of grants; no name is left without a holder
while somebody waits for it; nobody loses a lock without a reason; nothing stays behind; and the library raises nothing
that a storm is no reason for.
"""

import heapq
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from fencepost.testing.storm.excuse import around, excused, stalled
from fencepost.testing.storm.history import Broke, Deed, Event, Joined, Left, Trouble, concerns, process_of
from fencepost.testing.storm.interval import Span, length, merged, within, without
from fencepost.testing.storm.turn import STOP, Turn, clusters, turns


class Finding(NamedTuple):
    """A promise that was broken, and how."""

    law: str
    name: str
    what: str

    def __str__(self) -> str:
        return f"{self.law}: '{self.name}': {self.what}" if self.name else f"{self.law}: {self.what}"


def check(events: Sequence[Event], *, slack: float, twins: bool = False) -> list[Finding]:
    """Everything that is wrong with a history.

    `slack`: how many seconds a name may be idle without any excuse. `twins`: whether readers may have one token.
    """
    every = turns(events)
    return [
        *overlaps(every),
        *disorder(every, twins=twins),
        *idleness(events, every, slack=slack),
        *remains(events, every),
        *losses(events, every),
    ]


def overlaps(every: Iterable[Turn]) -> list[Finding]:
    """Two that exclude each other, both proven; or more than the limit of a semaphore."""
    found = []
    for name, held in _by_name(every).items():
        inside: list[Turn] = []
        for turn in sorted(held, key=lambda turn: turn.since):
            inside = [other for other in inside if other.until >= turn.since]
            among = "counted" if turn.mode == "counted" else "shared"
            alike = all(each.mode == among for each in (*inside, turn))
            most = turn.limit if among == "counted" else len(inside) + 1
            if inside and not (alike and len(inside) < most):
                others = ", ".join(other.told(name) for other in inside)
                found.append(Finding("two holders", name, f"{turn.told(name)} while {others}"))
            inside.append(turn)
    return found


def disorder(every: Iterable[Turn], *, twins: bool = False) -> list[Finding]:
    """A token twice, or one below that of a holder that had gone before, or was granted before this one asked."""
    found = []
    for name, held in _by_name(every).items():
        tokens: dict[int, Turn] = {}
        for turn in held:
            other = tokens.setdefault(turn.token(name), turn)
            if other is not turn and not (twins and turn.mode == other.mode == "shared"):
                found.append(Finding("token twice", name, f"{other.told(name)} and {turn.told(name)}"))
        # Each by when it is surely later than others, and by when others are surely later than it.
        found += _out_of_order(name, held, lambda turn: turn.asked_at, lambda turn: turn.since)
        alone = [turn for turn in held if turn.mode == "exclusive"]
        found += _out_of_order(name, alone, lambda turn: turn.since, lambda turn: turn.until)
    return list(dict.fromkeys(found))


def _out_of_order(
    name: str, held: Sequence[Turn], begins: Callable[[Turn], float], ends: Callable[[Turn], float]
) -> list[Finding]:
    found = []
    gone: list[tuple[float, int, Turn]] = []
    highest: Turn | None = None
    for number, turn in enumerate(sorted(held, key=begins)):
        while gone and gone[0][0] < begins(turn):
            other = heapq.heappop(gone)[2]
            if highest is None or other.token(name) > highest.token(name):
                highest = other
        if highest is not None and turn.token(name) < highest.token(name):
            found.append(Finding("token below an earlier one", name, f"{highest.told(name)}, then {turn.told(name)}"))
        heapq.heappush(gone, (ends(turn), number, turn))
    return found


def idleness(events: Sequence[Event], every: Sequence[Turn], *, slack: float) -> list[Finding]:
    """Nobody held, somebody waited, and nothing that the nemesis or the machine did is an excuse.

    For each set of names that are asked for together, the longest such time: of one flow that waited all the while.
    Beyond `slack`, what is taken off are excuses (see there), and the time in which anybody stood still who
    wanted to run: a name is handed on by several processes, and it may have been any of them. That counts twice, as a
    server has no observer, and gets its turn no sooner.
    """
    found = []
    together = clusters(every)
    stalls = stalled(events)
    excuses = excused(events, every)
    stops = [event for event in events if isinstance(event, Deed) and event.what == STOP]
    for cluster in set(together.values()):
        inside = [turn for turn in every if turn.names[0] in cluster]
        held = [(turn.since, turn.ended_at) for turn in inside if turn.granted]
        excuse = [span for name in cluster for span in excuses[name]]
        worst: tuple[float, Span, Turn] | None = None
        taken = merged(held + excuse)
        for turn in inside:
            if turn.answered_at - turn.asked_at <= slack:
                continue
            own = [(deed.at, deed.until) for deed in stops if concerns(deed.who, turn.who)]
            for idle in without((turn.asked_at, turn.answered_at), merged([*taken, *own]) if own else taken):
                seconds = idle[1] - idle[0] - 2 * length(within(idle, stalls))
                if seconds > slack and (worst is None or seconds > worst[0]):
                    worst = (seconds, idle, turn)
        if worst is not None:
            seconds, (since, until), turn = worst
            what = (
                f"nobody held it for {seconds:.2f} s of the time from {since:.3f} to {until:.3f}, and {turn.who} waited"
            )
            found.append(Finding("no holder", ", ".join(sorted(cluster)), f"{what} (asked at {turn.asked_at:.3f})"))
    return found


def losses(events: Sequence[Event], every: Iterable[Turn]) -> list[Finding]:
    """A lock that was gone though its lease lived, and nobody had harmed its holder, the way to it, or the engine."""
    lasting = {event.who: event.lasting for event in events if isinstance(event, Joined)}
    reasons = [event for event in events if isinstance(event, Deed | Trouble)]
    found = []
    for turn in every:
        near = lasting.get(process_of(turn.who), 0.0)
        if turn.how == "Lost" and not any(_explains(reason, turn, near) for reason in reasons):
            what = f"{turn.who} at {turn.ended_at:.3f}, while its lease lived (asked at {turn.asked_at:.3f})"
            found.append(Finding("lost without a reason", ", ".join(turn.names), what))
    return found


def _explains(reason: Deed | Trouble, turn: Turn, near: float) -> bool:
    """What was done before may have its effect later; what is said may be said late."""
    if not concerns(reason.who, turn.who):
        return False
    since, until = (reason.at, reason.until + near) if isinstance(reason, Deed) else around(reason.at, near)
    return since <= turn.ended_at <= until


def remains(events: Iterable[Event], every: Iterable[Turn]) -> list[Finding]:
    """What the engine still had at rest, who never came back, and errors that a storm is no reason for."""
    found = []
    for event in events:
        match event:
            case Left(_, _, name, what):
                found.append(Finding("left behind", name, what))
            case Broke(_, who, what):
                found.append(Finding("raised", "", f"{who}: {what}"))
    for turn in every:
        if not turn.over:
            names = ", ".join(turn.names)
            found.append(Finding("never came back", names, f"{turn.who}, which asked at {turn.asked_at:.3f}"))
    return found


def _by_name(every: Iterable[Turn]) -> dict[str, list[Turn]]:
    """Those who were granted."""
    found: dict[str, list[Turn]] = defaultdict(list)
    for turn in every:
        for name in turn.names if turn.granted else ():
            found[name].append(turn)
    return found
