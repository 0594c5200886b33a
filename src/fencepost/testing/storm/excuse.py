"""What may be the reason that a name has no holder: the machine, the nemesis, or what the library said is in doubt."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from fencepost.testing.storm.history import Deed, Event, Joined, Stalled, Trouble, concerns, process_of
from fencepost.testing.storm.interval import Span, merged, without
from fencepost.testing.storm.turn import STOP, Turn, at_work

# How an ask may end without trouble at the engine.
QUIET = frozenset({"released", "busy", "timeout", "interrupted"})


def stalled(events: Iterable[Event]) -> list[Span]:
    """When some process stood still that should have run, other than by the hand of the nemesis."""
    by_process: dict[str, list[Span]] = defaultdict(list)
    stops: dict[str, list[Span]] = defaultdict(list)
    for event in events:
        if isinstance(event, Stalled):
            by_process[event.who].append((event.at, event.until))
        elif isinstance(event, Deed) and event.what == STOP:
            stops[event.who].append((event.at, event.until))
    return merged(
        part for who, spans in by_process.items() for span in spans for part in without(span, merged(stops[who]))
    )


def excused(events: Sequence[Event], every: Sequence[Turn]) -> dict[str, list[Span]]:
    """By name, when it may have no holder that is known here.

    A deed of the nemesis is an excuse for the names that its victims were at, until what they had at the engine has
    ended by itself. So is what the library said about a lease or a call in doubt; it may say so late.
    """
    lasting = {event.who: event.lasting for event in events if isinstance(event, Joined)}
    found: dict[str, list[Span]] = defaultdict(list)
    troubles: dict[str, list[Span]] = defaultdict(list)
    for event in events:
        match event:
            case Deed(at, who, _, until):
                after = max((seconds for each, seconds in lasting.items() if concerns(who, each)), default=0.0)
                for name in at_work(every, who, at, until):
                    found[name].append((at, until + after))
            case Trouble(at, who, _):
                troubles[who].append(around(at, lasting.get(process_of(who), 0.0)))
    for who, spans in troubles.items():
        for since, until in merged(spans):
            for name in at_work(every, who, since, until):
                found[name].append((since, until))
    for turn in every:
        if turn.how and turn.how not in QUIET:
            for name in turn.names:
                found[name].append(around(turn.ended_at, lasting.get(process_of(turn.who), 0.0)))
    return found


def around(at: float, seconds: float) -> Span:
    return (at - seconds, at + seconds)
