import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencepost.core.rate import Rate, check_rate, taken

pytestmark = pytest.mark.unit


def test_a_burst_up_to_the_limit_then_one_per_interval() -> None:
    rate = check_rate(3, 6.0)
    busy, waits = 0.0, []
    for _ in range(4):
        busy, wait = taken(busy, 100.0, rate, 1)
        waits.append(wait)
    assert waits == [0.0, 0.0, 0.0, pytest.approx(2.0)]
    busy, wait = taken(busy, 102.0, rate, 1)
    assert wait == 0.0


def test_what_is_refused_takes_nothing() -> None:
    rate = Rate(1.0, 2)
    busy, _ = taken(0.0, 10.0, rate, 2)
    for _ in range(2):
        still, wait = taken(busy, 10.0, rate, 1)
        assert still == busy
        assert wait == pytest.approx(1.0)


@given(st.lists(st.tuples(st.floats(0, 3), st.integers(1, 3)), max_size=40), st.integers(3, 6), st.floats(0.5, 5))
def test_no_window_of_time_has_more_than_two_limits_and_the_wait_is_enough(
    asks: list[tuple[float, int]], limit: int, per: float
) -> None:
    rate = check_rate(limit, per)
    busy, now = 0.0, 1000.0
    grants: list[tuple[float, int]] = []
    for pause, weight in asks:
        now += pause
        busy, wait = taken(busy, now, rate, weight)
        if wait:
            now += wait + 1e-6
            busy, wait = taken(busy, now, rate, weight)
            assert wait == 0.0
        grants.append((now, weight))
    for start, _ in grants:
        inside = sum(weight for at, weight in grants if start <= at < start + per)
        # A full burst, and what trickles in during the window.
        assert inside <= 2 * limit


def test_bad_rates_are_refused() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        check_rate(0, 1.0)
    with pytest.raises(ValueError, match="more than 0 s"):
        check_rate(1, 0.0)
