"""Deterministic simulation: the real sessions and primitives in virtual time, at the mercy of dice.

    simulate(4711)

Several processes use locks of every kind, over a network that holds calls up, loses them or their answers, and
delivers them twice and out of order. Users are cancelled at any step. Processes are stopped, cut off, closed and
killed. The event loop picks what comes next by a die. Then all is calm again, and what must hold is checked to the end:

- never do two believe, by leases that are proven, to hold what only one may hold;
- tokens of a name grow in the order of its grants;
- while nothing fails, a name that somebody waits for is handed over at once, and nobody waits for ever;
- at the end nothing is left: no holder, no waiter, no task, no error that nobody took.

One seed is one schedule, in every process and on every machine. `python -m fencepost.testing.simulation SEED` shows it.
"""

from fencepost.testing.simulation.schedule import Make, Schedule, memory
from fencepost.testing.simulation.trace import Trace


class LawBroken(AssertionError):
    """A schedule in which something that must hold did not."""

    def __init__(self, seed: int, what: str, trace: Trace, again: str) -> None:
        super().__init__(f"seed {seed}: {what}\n{trace}\nseed {seed}: {what}\nto see it again: {again}")
        self.seed = seed
        self.what = what


def simulate(seed: int, make: Make = memory) -> Trace:
    """What happens in the schedule of this seed; raises `LawBroken` if it should not.

    `make(store, clock)` connects to the store of that name. It is for engines that do all their work on the event loop:
    no socket, no thread, no time but that of `clock`, and no order that differs from process to process, as that of a
    set of texts does.
    """
    schedule = Schedule(seed, make)
    what = schedule.run()
    if what is not None:
        again = f"python -m fencepost.testing.simulation {seed}" if make is memory else f"simulate({seed}, make)"
        raise LawBroken(seed, what, schedule.trace, again)
    return schedule.trace
