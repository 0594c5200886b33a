"""Who goes first of those who wait: a priority, and one number that orders a queue by it and then by arrival."""

from fencepost.core.shown import shown

LOWEST, HIGHEST = -100, 100
# Far above every ticket, and a hundred of them still fit into 63 bits.
BAND = 1 << 54


def check_priority(priority: int) -> int:
    """The priority itself, or an error that says what to change."""
    if not isinstance(priority, int) or isinstance(priority, bool):
        raise TypeError(f"the priority is a whole number, not {shown(priority)}")
    if not LOWEST <= priority <= HIGHEST:
        raise ValueError(f"the priority is from {LOWEST} to {HIGHEST}, got {shown(priority)}")
    return priority


def turn_of(ticket: int, priority: int) -> int:
    """The turn of whoever came with this ticket: the lowest goes first, and the turns of equals are in their order."""
    return ticket - priority * BAND


def priority_of(turn: int) -> int:
    return -(turn // BAND)


def ticket_of(turn: int) -> int:
    return turn % BAND
