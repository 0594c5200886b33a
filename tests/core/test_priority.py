"""The order of turns."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencepost.core.claim import Ask, Mode, Request, admitted
from fencepost.core.holder import Holder
from fencepost.core.priority import BAND, HIGHEST, LOWEST, check_priority, priority_of, ticket_of, turn_of
from fencepost.core.token import LARGEST

pytestmark = pytest.mark.unit

tickets = st.integers(0, BAND - 1)
priorities = st.integers(LOWEST, HIGHEST)
ME = Holder("1", "me")


@given(st.lists(st.tuples(tickets, priorities), unique=True))
def test_the_highest_priority_goes_first_and_equals_in_order_of_arrival(line: list[tuple[int, int]]) -> None:
    in_turn = sorted(line, key=lambda each: turn_of(*each))
    assert in_turn == sorted(line, key=lambda each: (-each[1], each[0]))


@given(tickets, priorities)
def test_a_turn_tells_its_ticket_and_its_priority_and_fits_into_64_bits(ticket: int, priority: int) -> None:
    turn = turn_of(ticket, priority)
    assert (ticket_of(turn), priority_of(turn)) == (ticket, priority)
    assert -LARGEST <= turn <= LARGEST
    assert turn_of(ticket, 0) == ticket


def test_a_priority_is_a_whole_number_within_bounds() -> None:
    assert [check_priority(each) for each in (LOWEST, 0, HIGHEST)] == [LOWEST, 0, HIGHEST]
    for wrong in (LOWEST - 1, HIGHEST + 1):
        with pytest.raises(ValueError, match=f"from -100 to 100, got {wrong}"):
            check_priority(wrong)
    for odd in (True, 1.5, "7", None):
        with pytest.raises(TypeError, match="a whole number"):
            check_priority(odd)  # type: ignore[arg-type]


def test_a_request_without_one_has_priority_zero() -> None:
    assert Request(ME, 1, (Ask("a"),)).priority == 0


def test_who_waits_for_several_names_keeps_a_lower_one_from_each() -> None:
    high = Request(ME, 2, (Ask("a"), Ask("b")), 1)
    low = Request(ME, 1, (Ask("a", Mode.SHARED),))
    holding = {"b": [Ask("b")]}
    assert list(admitted(holding, [high, low], {"a"})) == []
    assert list(admitted({}, [high, low], {"a"})) == [high]
