"""A history, read as turns: who asked for what, when it was granted, and until when it is proven to have been held."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from fencepost.testing.storm.history import Asked, Deed, Ended, Event, Got, Held, concerns, process_of

KILL = "kill"
STOP = "stop"


@dataclass(slots=True, kw_only=True)
class Turn:
    """One ask of one flow.

    It is waited for from `asked_at` to `answered_at`. If granted, it is proven to be held from `since` to `until`, and
    nothing of it is left at `ended_at`; where the process was killed, that is when it was.
    """

    who: str
    names: tuple[str, ...]
    mode: str
    limit: int
    asked_at: float
    answered_at: float
    ended_at: float
    tokens: tuple[int, ...] = ()
    since: float = 0.0
    until: float = 0.0
    how: str = ""
    over: bool = field(default=False, repr=False)

    @property
    def granted(self) -> bool:
        return bool(self.tokens)

    def token(self, name: str) -> int:
        return self.tokens[self.names.index(name)]

    def told(self, name: str) -> str:
        """For a finding."""
        return f"{self.who} ({self.mode}, token {self.token(name)}) from {self.since:.3f} to {self.until:.3f}"


def turns(events: Sequence[Event]) -> list[Turn]:
    """In the order in which they were asked for."""
    end = max((event.at for event in events), default=0.0)
    deaths = {event.who: event for event in events if isinstance(event, Deed) and event.what == KILL}
    found: list[Turn] = []
    current: dict[str, Turn] = {}
    for event in events:
        match event:
            case Asked(at, who, names, mode, limit):
                current[who] = Turn(
                    who=who, names=names, mode=mode, limit=limit, asked_at=at, answered_at=end, ended_at=end
                )
                found.append(current[who])
            case Got(at, who, tokens):
                turn = current[who]
                turn.tokens, turn.since, turn.until, turn.answered_at = tokens, at, at, at
            case Held(at, who):
                current[who].until = at
            case Ended(at, who, how):
                turn = current[who]
                turn.ended_at, turn.how, turn.over = at, how, True
                turn.answered_at = turn.since or at
    for turn in current.values():
        death = deaths.get(process_of(turn.who))
        if death is not None and not turn.over:
            # It may have died at any instant in between.
            turn.ended_at, turn.over = death.until, True
            turn.answered_at = turn.since or death.at
    return sorted(found, key=lambda turn: turn.asked_at)


def clusters(every: Iterable[Turn]) -> dict[str, frozenset[str]]:
    """By name, those that were ever asked for together with it, and so may have to wait for each other."""
    found: dict[str, frozenset[str]] = {}
    for names in {turn.names for turn in every}:
        joined = frozenset(names).union(*(found.get(name, frozenset()) for name in names))
        found.update(dict.fromkeys(joined, joined))
    return found


def at_work(every: Iterable[Turn], whom: str, since: float, until: float) -> set[str]:
    """The names that those whom it concerns asked for or held in that time."""
    return {
        name
        for turn in every
        if turn.asked_at <= until and turn.ended_at >= since and concerns(whom, turn.who)
        for name in turn.names
    }
