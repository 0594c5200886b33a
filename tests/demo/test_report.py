"""The verdict is a function of the counts: a tampered count changes it."""

from dataclasses import replace

import pytest

from fencepost.demo.posting import Fencing
from fencepost.demo.report import Outcome, faults, table

pytestmark = pytest.mark.unit

HONEST = tuple(
    Outcome(
        fencing=fencing,
        seconds=4.5,
        pauses=10,
        overtaken=9,
        acknowledged=30,
        surviving=surviving,
        refused=0,
        losses_noticed=9,
    )
    for fencing, surviving in zip(Fencing, (20, 26, 30), strict=True)
)


def test_a_run_that_lost_only_without_the_full_fence_has_no_fault() -> None:
    assert faults(HONEST) == []


def test_one_update_lost_behind_the_full_fence_is_a_fault() -> None:
    bare, writes, full = HONEST
    (fault,) = faults((bare, writes, replace(full, surviving=29)))
    assert "lost 1 acknowledged" in fault


def test_losing_nothing_without_a_fence_is_a_fault() -> None:
    bare, writes, full = HONEST
    (fault,) = faults((replace(bare, surviving=30), writes, full))
    assert "nothing was shown" in fault


def test_a_round_in_which_nobody_was_overtaken_is_a_fault() -> None:
    bare, writes, full = HONEST
    (fault,) = faults((bare, writes, replace(full, overtaken=0)))
    assert "shows nothing" in fault


def test_a_missing_round_is_a_fault() -> None:
    (fault,) = faults(HONEST[:2])
    assert fault == "the round 'fence on read and write' is missing"


def test_a_round_that_acknowledged_nothing_has_lost_nothing() -> None:
    assert replace(HONEST[0], acknowledged=0, surviving=0).lost_share == 0.0


def test_the_table_shows_what_was_lost_as_count_and_share() -> None:
    assert "10 (33.3%)" in table(HONEST)
