"""How many may hold a name at once, and how much of that one ask takes."""


def check_permits(limit: int, weight: int) -> None:
    for what, number in (("limit", limit), ("weight", weight)):
        if not isinstance(number, int) or isinstance(number, bool):
            raise TypeError(f"the {what} of a semaphore is a whole number, not {number!r}")
        if number < 1:
            raise ValueError(f"the {what} of a semaphore is at least 1, got {number}")
    if weight > limit:
        raise ValueError(f"a weight of {weight} can never be granted within a limit of {limit}: raise the limit")
