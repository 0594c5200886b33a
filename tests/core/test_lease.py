import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencepost.core.lease import LEAST_SPAN, Standing, Terms, standing

pytestmark = pytest.mark.unit

seconds = st.floats(min_value=0.1, max_value=86_400)


@given(ttl=seconds, share=st.floats(min_value=0, max_value=0.7), sent_at=st.floats(min_value=0, max_value=1e9))
def test_the_holder_gives_up_margin_and_drift_before_the_engine_can(ttl: float, share: float, sent_at: float) -> None:
    terms = Terms(ttl, margin=ttl * share)
    # The engine starts to count when it hears the request, never before it was sent.
    assert terms.ends_at(sent_at) + terms.margin + terms.drift <= sent_at + ttl + 1e-6
    assert sent_at < terms.renew_at(sent_at) < terms.ends_at(sent_at)


@given(ttl=seconds)
def test_two_renewals_may_fail_before_a_lease_is_lost(ttl: float) -> None:
    terms = Terms(ttl)
    assert terms.renew_at(0) * 3 <= terms.ends_at(0) + 1e-9


@pytest.mark.parametrize("ttl", [0, -1, math.nan, math.inf, "10", None, True])
def test_a_ttl_that_is_no_duration_raises(ttl: float) -> None:
    with pytest.raises((ValueError, TypeError), match="ttl"):
        Terms(ttl)


@pytest.mark.parametrize("margin", [-0.1, math.nan, math.inf])
def test_a_margin_that_is_no_duration_raises(margin: float) -> None:
    with pytest.raises(ValueError, match="margin"):
        Terms(10, margin=margin)


def test_a_margin_that_leaves_no_lease_raises_and_says_what_would_fit() -> None:
    with pytest.raises(ValueError, match=r"leaves no lease: use a longer ttl or a margin below 0\.968 s"):
        Terms(1.0, margin=1.0)
    Terms(1.0, margin=0.96)


def test_a_lease_has_room_for_a_renewal() -> None:
    assert Terms(0.05).span >= LEAST_SPAN


def test_a_lease_is_held_then_in_jeopardy_if_renewals_fail_then_lost() -> None:
    assert standing(9.9, 10.0, failing=False) is Standing.HELD
    assert standing(9.9, 10.0, failing=True) is Standing.JEOPARDY
    assert standing(10.0, 10.0, failing=False) is Standing.LOST
    assert standing(10.1, 10.0, failing=True) is Standing.LOST
