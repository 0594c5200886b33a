"""How long the calls of a thread may take."""

import math

import pytest

from fencepost._runtime.threads import BootClock, Limit, patience, time_left

pytestmark = pytest.mark.unit


def test_the_sooner_of_two_limits_counts_and_each_ends_with_its_block() -> None:
    clock = BootClock()
    with Limit(clock, clock.now() + 60):
        with Limit(clock, clock.now() + 30):
            assert 20 < patience(100.0) <= 30
            with Limit(clock, clock.now() + 90):
                assert 20 < time_left() <= 30
        assert 50 < time_left() <= 60
    assert (patience(100.0), time_left()) == (100.0, math.inf)


def test_a_limit_that_an_interruption_left_behind_does_not_end_the_calls_of_its_thread() -> None:
    clock = BootClock()
    Limit(clock, clock.now() - 2).__enter__()
    assert (patience(100.0), time_left()) == (100.0, math.inf)
    Limit(clock, clock.now() - 2).__enter__()
    with Limit(clock, clock.now() + 30):
        assert 20 < time_left() <= 30
    assert time_left() == math.inf
