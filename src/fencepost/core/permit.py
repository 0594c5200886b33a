"""How many may hold a name at once, and how much of that one ask takes."""

from fencepost.core.shown import shown

# What every store and its scripts count exactly.
MOST_COUNT = 2**31 - 1


def check_count(number: int, what: str, most: int = MOST_COUNT) -> int:
    """The number itself, or an error that says what to change."""
    if not isinstance(number, int) or isinstance(number, bool):
        raise TypeError(f"the {what} is a whole number, not {shown(number)}")
    if number < 1:
        raise ValueError(f"the {what} is at least 1, got {shown(number)}")
    if number > most:
        raise ValueError(f"the {what} is at most {most}, got {shown(number)}")
    return number


def check_permits(limit: int, weight: int) -> None:
    check_count(limit, "limit of a semaphore")
    check_count(weight, "weight of a permit")
    if weight > limit:
        raise ValueError(f"a weight of {weight} can never be granted within a limit of {limit}: raise the limit")
