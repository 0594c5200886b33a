"""The arithmetic of stopping in time."""

import pytest

from fencepost.cli.grace import kill_at, plan
from fencepost.core.lease import Terms

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("ttl", [0.1, 1.0, 10.0, 60.0, 3600.0])
@pytest.mark.parametrize("share", [None, 0.0, 0.5])
def test_from_the_loss_to_the_end_of_the_lease_there_is_more_time_than_the_grace(
    ttl: float, share: float | None
) -> None:
    made = plan(ttl, None if share is None else ttl * share)
    terms = Terms(ttl, made.margin)
    assert terms.ends_at(0.0) + made.grace < ttl
    assert terms.span > ttl / 3


def test_by_default_the_grace_is_a_fifth_of_the_ttl_and_at_most_5_s() -> None:
    assert plan(10, None).grace == 2
    assert plan(3600, None).grace == 5


def test_a_grace_that_does_not_fit_says_what_would() -> None:
    with pytest.raises(ValueError, match=r"at most 5 s or a ttl of at least 16 s"):
        plan(10, 8)


def test_the_grace_counts_from_the_end_of_the_proof_however_late_it_was_noticed() -> None:
    assert kill_at(proven_until=100.0, now=101.5, grace=2.0) == 102.0


def test_the_grace_of_what_was_taken_from_a_living_lease_counts_from_now() -> None:
    assert kill_at(proven_until=100.0, now=95.0, grace=2.0) == 97.0
