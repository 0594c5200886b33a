"""What a flow asks for next, and for how long: by its dice."""

import random
from dataclasses import dataclass

from fencepost.core.traits import Traits

# How long those wait who have time. Whoever finds a name without a holder has to wait for longer than that lasts.
PATIENT = 12.0
HURRIED = 0.05
LIMIT = 2
# Which share of a task's calls is cancelled, and within how many seconds: as it waits, or its request is on its way.
HAZARD = (0.4, 0.08)
# The crew of those who soon give up, whatever they ask for.
RESTLESS = "restless"
RESTLESS_HAZARD = (0.6, 0.02)


@dataclass(frozen=True, slots=True)
class Plan:
    """`timeout` 0 tries once. `work` is how many seconds it is held."""

    names: tuple[str, ...]
    mode: str
    limit: int
    timeout: float
    work: float
    hazard: tuple[float, float] = HAZARD


def names_of(crew: str) -> tuple[str, ...]:
    """All that a crew asks for."""
    return tuple(f"{crew} {name}" for name in ("hot", "warm", "rw", "permits", "left", "right"))


def choose(dice: random.Random, crew: str, traits: Traits) -> Plan:
    hot, warm, rw, permits, left, right = names_of(crew)
    restless = crew == RESTLESS
    timeout = dice.choices((PATIENT, dice.uniform(0, HURRIED), 0.0), (1, 4, 3) if restless else (6, 3, 1))[0]
    work = dice.choices((0.0, dice.uniform(0, 0.003), dice.uniform(0, 0.03)), (5, 3, 2))[0]
    kinds = [
        (2 if restless else 6, (hot,), "exclusive"),
        (2 if restless else 1, (warm,), "exclusive"),
        (2 if restless else 1, (rw,), "exclusive"),
        (2 * traits.shared, (rw,), "shared"),
        (2 * traits.counted, (permits,), "counted"),
        (1, (left, right), "exclusive"),
        (2 if restless else 1, (left,), "exclusive"),
        (2 if restless else 1, (right,), "exclusive"),
    ]
    _, names, mode = dice.choices(kinds, [weight for weight, _, _ in kinds])[0]
    hazard = RESTLESS_HAZARD if restless else HAZARD
    return Plan(names, mode, LIMIT if mode == "counted" else 1, timeout, work, hazard)
