"""How many may hold a name at once, and how much of that one ask takes."""


def check_count(number: int, what: str) -> int:
    """The number itself, or an error that says what to change."""
    if not isinstance(number, int) or isinstance(number, bool):
        raise TypeError(f"the {what} is a whole number, not {number!r}")
    if number < 1:
        raise ValueError(f"the {what} is at least 1, got {number}")
    return number


def check_permits(limit: int, weight: int) -> None:
    check_count(limit, "limit of a semaphore")
    check_count(weight, "weight of a permit")
    if weight > limit:
        raise ValueError(f"a weight of {weight} can never be granted within a limit of {limit}: raise the limit")
