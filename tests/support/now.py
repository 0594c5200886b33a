"""What is so now, and may be otherwise a line later."""

from typing import TypeVar

T = TypeVar("T")


def now(value: T) -> T:
    """As it is; without this, a checker of types holds on to what was asserted of it."""
    return value
