import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencepost.core.backoff import backoff

pytestmark = pytest.mark.unit


@given(attempt=st.integers(0, 10_000), dice=st.floats(0, 1, exclude_max=True))
def test_a_pause_lies_between_half_the_ceiling_and_the_ceiling(attempt: int, dice: float) -> None:
    pause = backoff(attempt, dice, first=0.1, most=5.0)
    ceiling = min(5.0, 0.1 * 2.0 ** min(attempt, 60))
    assert ceiling / 2 <= pause <= ceiling


def test_two_throws_of_the_dice_part_two_clients() -> None:
    assert backoff(3, 0.1, first=0.1, most=5.0) != backoff(3, 0.2, first=0.1, most=5.0)
