"""The arithmetic between samples and verdicts."""

import pytest

from benchmarks.quantile import median, quantile, share, spread
from benchmarks.report import Target
from benchmarks.timing import Times, ratio

pytestmark = pytest.mark.unit


def test_a_quantile_is_the_sample_at_the_nearest_rank() -> None:
    samples = list(range(1, 101))
    assert (quantile(samples, 0.5), quantile(samples, 0.99), quantile(samples, 1.0)) == (50, 99, 100)


def test_one_sample_is_every_quantile() -> None:
    assert spread([7.0]) == (7.0, 7.0)


def test_the_median_does_not_depend_on_the_order() -> None:
    assert median([3, 1, 2]) == 2


def test_a_ratio_is_taken_round_by_round_so_that_drift_cancels_out() -> None:
    slow, fast = Times(), Times()
    for speed in (1_000, 5_000, 9_000):
        slow.add([2 * speed])
        fast.add([speed])
    assert ratio(slow, fast) == pytest.approx(2.0)


def test_a_worker_that_got_nothing_makes_the_share_huge_and_not_infinite() -> None:
    assert share([100, 0]) == 200


def test_a_target_is_met_at_its_limit_and_missed_above() -> None:
    assert Target("share", 1.2, 1.2).met
    assert str(Target("share", 1.3, 1.2)) == "MISS share: 1.3 (at most 1.2)"
