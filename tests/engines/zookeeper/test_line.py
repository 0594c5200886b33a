"""Who holds and whom to watch, decided from made-up lines."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencepost.core.claim import Ask, Mode, Request
from fencepost.core.holder import Holder
from fencepost.engines.zookeeper.contender import Contender, Recipe
from fencepost.engines.zookeeper.line import holding, in_the_way

pytestmark = pytest.mark.unit

KAZOO = Recipe("kazoo")
HOLDER = Holder("0" * 24, "first")
MODES = st.one_of(
    st.just(Ask("a")),
    st.just(Ask("a", Mode.SHARED)),
    st.builds(
        lambda limit, weight: Ask("a", Mode.COUNTED, min(limit, weight), limit), st.integers(1, 4), st.integers(1, 3)
    ),
)


def line_of(*asks: Ask) -> list[Contender]:
    nodes = [
        f"{KAZOO.stem(Request(HOLDER, serial, (ask,)))}{serial:010}".encode() for serial, ask in enumerate(asks, 1)
    ]
    return KAZOO.line(list(reversed(nodes)), "a")


def numbers(contenders: list[Contender]) -> list[int]:
    return [each.sequence for each in contenders]


def test_a_line_is_in_order_of_arrival_and_says_who_asked_for_what() -> None:
    asks = (Ask("a"), Ask("a", Mode.SHARED), Ask("a", Mode.COUNTED, 2, 5))
    line = line_of(*asks)
    assert [each.ask for each in line] == list(asks)
    assert [each.owner for each in line] == [(HOLDER.id, serial) for serial in (1, 2, 3)]
    assert line[1].is_of(Request(HOLDER, 2, ()))


@pytest.mark.parametrize(
    ("recipe", "node", "mode"),
    [
        ("kazoo", "8f3e__lock__0000000007", Mode.EXCLUSIVE),
        ("kazoo", "8f3e__rlock__0000000007", Mode.SHARED),
        ("kazoo", "_c_8f3e-lock-0000000007", None),
        ("kazoo", "child", None),
        ("kazoo", "8f3e__lock__", None),
        ("curator", "_c_8f3e-lock-0000000007", Mode.EXCLUSIVE),
        ("curator", "8f3e__lock__0000000007", None),
    ],
)
def test_what_other_clients_nodes_mean(recipe: str, node: str, mode: Mode | None) -> None:
    found = Recipe(recipe).contender(node, "a")
    assert (found and (found.ask.mode, found.sequence, found.owner)) == (mode and (mode, 7, None))


def test_an_exclusive_ask_watches_only_the_one_before() -> None:
    line = line_of(Ask("a"), Ask("a", Mode.SHARED), Ask("a"))
    assert numbers(in_the_way(line, Ask("a"))) == [3]
    assert in_the_way([], Ask("a")) == []


def test_a_reader_watches_the_last_who_is_no_reader() -> None:
    reader = Ask("a", Mode.SHARED)
    assert numbers(in_the_way(line_of(reader, Ask("a"), reader, reader), reader)) == [2]
    assert in_the_way(line_of(reader, reader), reader) == []


def test_a_permit_watches_as_many_as_there_are_permits() -> None:
    permit = Ask("a", Mode.COUNTED, 1, 3)
    assert in_the_way(line_of(permit, permit), permit) == []
    assert numbers(in_the_way(line_of(*[permit] * 3), permit)) == [1, 2, 3]
    # Five of the seven before it must go, so that one of these three is among them.
    assert numbers(in_the_way(line_of(*[permit] * 7), permit)) == [5, 6, 7]


@given(before=st.lists(MODES, max_size=6), ask=MODES, data=st.data())
def test_who_is_let_in_by_a_departure_was_watching_it(before: list[Ask], ask: Ask, data: st.DataObject) -> None:
    line = line_of(*before)
    watched = in_the_way(line, ask)
    if not watched:
        assert holding([*line, *line_of(ask)]) == len(line) + 1
        return
    # Whoever leaves without being watched lets nobody in.
    unwatched = [each for each in line if each not in watched]
    for count in range(len(unwatched) + 1):
        for leaving in itertools.combinations(unwatched, count):
            assert in_the_way([each for each in line if each not in leaving], ask)


@given(line=st.lists(MODES, max_size=6), data=st.data())
def test_nobody_loses_what_it_holds_because_another_leaves(line: list[Ask], data: st.DataObject) -> None:
    contenders = line_of(*line)
    held = contenders[: holding(contenders)]
    leaving = data.draw(st.sets(st.sampled_from(contenders)) if contenders else st.just(set()))
    left = [each for each in contenders if each not in leaving]
    assert [each for each in held if each not in leaving] == left[: len([each for each in held if each not in leaving])]
    assert holding(left) >= len([each for each in held if each not in leaving])
