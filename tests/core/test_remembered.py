"""What is kept of what was made of values that come again and again."""

import pytest

from fencepost.core.remembered import MOST, SMALL, remembered

pytestmark = pytest.mark.unit


def test_what_was_made_of_a_small_value_is_made_once() -> None:
    made: list[str] = []
    read = remembered(len)(made.append)
    for value in ("small", "small", "x" * SMALL, "x" * SMALL):
        read(value)
    assert made == ["small", "x" * SMALL, "x" * SMALL]


def test_of_many_small_values_the_last_are_kept() -> None:
    made: list[str] = []
    read = remembered(len)(made.append)
    for value in range(MOST + 1):
        read(str(value))
    read(str(MOST))
    assert len(made) == MOST + 1
    read("0")
    assert len(made) == MOST + 2
