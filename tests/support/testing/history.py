"""Made-up histories of storms: by hand, and by dice."""

import random
from collections.abc import Iterator
from dataclasses import dataclass

from fencepost.testing.storm.history import Asked, Ended, Event, Got, Held, Joined

TTL = 2.0
# Of a semaphore.
LIMIT = 3
Turn = list[Event]


def turn(
    who: str,
    asked: float,
    got: float | None = None,
    held: float | None = None,
    ended: float | None = None,
    *,
    names: tuple[str, ...] = ("a",),
    tokens: tuple[int, ...] | None = None,
    mode: str = "exclusive",
    limit: int = 1,
    how: str = "released",
) -> Turn:
    """An ask of `who`, as far as it came."""
    events: Turn = [Asked(asked, who, names, mode, limit)]
    if got is not None:
        events.append(Got(got, who, tokens or (int(got * 1000),) * len(names)))
    if held is not None:
        events.append(Held(held, who))
    if ended is not None:
        events.append(Ended(ended, who, how))
    return events


def joined(*processes: str) -> list[Event]:
    return [Joined(0.0, process, TTL) for process in processes]


@dataclass(slots=True, eq=False)
class _Flow:
    who: str
    does: str = "ask"
    mode: str = ""
    token: int = 0


def lives(dice: random.Random, name: str, modes: tuple[str, ...], grants: int, *, flows: int = 16) -> Iterator[Event]:
    """What flows see of a correct lock that grants so often: each grant late, and for the last time before its end."""
    everyone = [_Flow(f"x/{number % 4}/{name}-{number}") for number in range(flows)]
    waiting: list[_Flow] = []
    held: list[_Flow] = []
    at, token = 0.0, 0
    while grants or any(flow.does != "ask" for flow in everyone):
        at += dice.uniform(0.001, 0.002)
        flow = dice.choice(everyone)
        match flow.does:
            case "ask" if grants:
                grants -= 1
                flow.does, flow.mode = "wait", dice.choice(modes)
                waiting.append(flow)
                yield Asked(at, flow.who, (name,), flow.mode, LIMIT)
            case "see":
                flow.does = dice.choice(("prove", "leave"))
                yield Got(at, flow.who, (flow.token,))
            case "prove":
                flow.does = dice.choice(("prove", "leave"))
                yield Held(at, flow.who)
            case "leave":
                flow.does = "end"
                held.remove(flow)
            case "end":
                flow.does = "ask"
                yield Ended(at, flow.who, dice.choice(("released", "Lost")))
        while waiting and _admitted(waiting[0], held):
            token += dice.randint(1, 3)
            first = waiting.pop(0)
            first.does, first.token = "see", token
            held.append(first)


def _admitted(first: _Flow, held: list[_Flow]) -> bool:
    together = first.mode != "exclusive" and all(each.mode == first.mode for each in held)
    return not held or (together and (first.mode == "shared" or len(held) < LIMIT))
