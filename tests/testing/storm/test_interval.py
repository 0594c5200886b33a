"""Spans of time."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencepost.testing.storm.interval import length, merged, within, without

pytestmark = pytest.mark.unit
INSTANT = st.integers(0, 20)
SPAN = st.tuples(INSTANT, INSTANT).map(lambda pair: (min(pair), max(pair)))


@given(st.lists(SPAN), SPAN)
def test_each_instant_of_a_span_is_within_the_others_or_without(
    spans: list[tuple[int, int]], span: tuple[int, int]
) -> None:
    taken = merged(spans)
    inside, outside = within(span, taken), without(span, taken)

    def covered(instant: float, among: object) -> bool:
        return any(since < instant < until for since, until in among)  # type: ignore[attr-defined]

    for number in range(20):
        instant = number + 0.5
        assert covered(instant, taken) == covered(instant, spans)
        assert covered(instant, inside) == (covered(instant, [span]) and covered(instant, taken))
        assert covered(instant, outside) == (covered(instant, [span]) and not covered(instant, taken))
    assert length(inside) + length(outside) == span[1] - span[0]
