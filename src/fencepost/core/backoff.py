"""How long to wait before trying again: full jitter under a doubling ceiling."""


def backoff(attempt: int, dice: float, *, first: float, most: float) -> float:
    """The pause before retry `attempt` (0, 1, …), with `dice` in [0, 1).

    At least half of the ceiling, so that a lucky throw does not become a busy loop.
    """
    ceiling = min(most, first * 2.0 ** min(attempt, 60))
    return ceiling * (0.5 + dice / 2)
