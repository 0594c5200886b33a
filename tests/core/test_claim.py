from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencepost.core.claim import Ask, Claim, Mode, Request, admits, admitted, ahead
from fencepost.core.holder import Holder

pytestmark = pytest.mark.unit

ME = Holder("1", "me")
OTHER = Holder("2", "other")
asks = st.builds(Ask, name=st.just("a"), mode=st.sampled_from(Mode), weight=st.integers(1, 3), limit=st.integers(1, 5))


def test_an_exclusive_ask_is_admitted_only_alone() -> None:
    assert admits([], Ask("a"))
    assert not admits([Ask("a")], Ask("a"))
    assert not admits([Ask("a", Mode.SHARED)], Ask("a"))


def test_shared_asks_are_admitted_beside_each_other_only() -> None:
    shared = Ask("a", Mode.SHARED)
    assert admits([shared, shared], shared)
    assert not admits([shared, Ask("a")], shared)
    assert not admits([Ask("a", Mode.COUNTED, limit=5)], shared)


def test_counted_asks_are_admitted_up_to_their_limit() -> None:
    held = [Ask("a", Mode.COUNTED, weight=2, limit=5), Ask("a", Mode.COUNTED, weight=1, limit=5)]
    assert admits(held, Ask("a", Mode.COUNTED, weight=2, limit=5))
    assert not admits(held, Ask("a", Mode.COUNTED, weight=3, limit=5))


@given(st.lists(asks, max_size=8))
def test_whoever_is_admitted_in_turn_could_hold_together(queue: list[Ask]) -> None:
    requests = [Request(ME, serial, (ask,)) for serial, ask in enumerate(queue)]
    holding: dict[str, list[Ask]] = {}
    granted = list(admitted(holding, requests, ["a"]))
    # In order of arrival, without a gap: the first that is refused keeps its turn.
    assert granted == requests[: len(granted)]
    held = [request.asks[0] for request in granted]
    assert holding.get("a", []) == held
    if any(ask.mode is Mode.EXCLUSIVE for ask in held):
        assert len(held) == 1
    assert len({ask.mode for ask in held}) <= 1
    if held and held[0].mode is Mode.COUNTED:
        assert sum(ask.weight for ask in held) <= held[-1].limit


def test_a_request_for_several_names_keeps_its_turn_on_all_of_them() -> None:
    both = Request(ME, 1, (Ask("a"), Ask("b")))
    late = Request(OTHER, 1, (Ask("b"),))
    assert list(admitted({"a": [Ask("a")]}, [both, late], ["a", "b"])) == []
    assert list(admitted({}, [both, late], ["a", "b"])) == [both]


def test_only_requests_that_touch_a_freed_name_are_looked_at() -> None:
    first = Request(ME, 1, (Ask("a"),))
    second = Request(OTHER, 1, (Ask("b"),))
    assert list(admitted({}, [first, second], ["b"])) == [second]


def test_the_first_waiter_watches_the_holders_and_the_others_the_one_before() -> None:
    holders = [Claim(OTHER, number, Ask("a", Mode.SHARED), token=number) for number in (1, 2)]
    waiters = [Claim(ME, number, Ask("a")) for number in (7, 8, 9)]
    queue = [*holders, *waiters]
    assert ahead(queue, ME, 7) == tuple(holders)
    for before, claim in pairwise(waiters):
        assert ahead(queue, ME, claim.serial) == (before,)
