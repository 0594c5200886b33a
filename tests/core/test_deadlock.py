from typing import Any

import pytest

from fencepost.core.claim import Ask, Claim, Mode
from fencepost.core.deadlock import Line, _Search, deadlocks
from fencepost.core.holder import Holder

pytestmark = pytest.mark.unit


def holds(who: str, name: str) -> Claim:
    return Claim(Holder(who, who), 1, Ask(name), 5)


def wants(who: str, name: str, mode: Mode = Mode.EXCLUSIVE) -> Claim:
    return Claim(Holder(who, who), 2, Ask(name, mode))


def circles(*found: Line) -> list[list[tuple[str, str, str]]]:
    return [
        [(wait.waiter.holder.id, wait.waiter.name, wait.blocker.holder.id) for wait in circle]
        for circle in deadlocks(found)
    ]


def test_two_that_want_what_the_other_holds_are_a_circle_told_once() -> None:
    found = [Line([holds("x", "a")], [wants("y", "a")]), Line([holds("y", "b")], [wants("x", "b")])]
    assert circles(*found) == [[("y", "a", "x"), ("x", "b", "y")]]


def test_a_line_without_an_end_that_bites_its_beginning_is_none() -> None:
    found = [Line([holds("x", "a")], [wants("y", "a")]), Line([holds("y", "b")], [wants("z", "b")])]
    assert circles(*found) == []


def test_three_in_a_circle_are_found_whoever_else_waits() -> None:
    found = [
        Line([holds("x", "a")], [wants("w", "a"), wants("y", "a")]),
        Line([holds("y", "b")], [wants("z", "b")]),
        Line([holds("z", "c")], [wants("x", "c")]),
    ]
    assert [("y", "a", "x"), ("x", "c", "z"), ("z", "b", "y")] in circles(*found)


def test_whoever_came_before_is_in_the_way_as_well() -> None:
    # z reads 'a', x waits to write it, y would read it behind x, and y holds what x's other task waits for.
    found = [
        Line([holds("z", "a")], [wants("x", "a"), wants("y", "a", Mode.SHARED)]),
        Line([holds("y", "b")], [wants("x", "b")]),
    ]
    assert circles(*found) == [[("x", "b", "y"), ("y", "a", "x")]]


def test_a_session_that_waits_for_another_of_its_own_tasks_is_no_circle() -> None:
    assert circles(Line([holds("x", "a")], [wants("x", "a")])) == []


def test_whoever_waits_behind_another_of_its_own_tasks_and_a_stranger_is_in_a_circle_with_that() -> None:
    found = Line([holds("x", "a")], [wants("y", "a"), wants("x", "a", Mode.SHARED)])
    assert circles(found) == [[("y", "a", "x"), ("x", "a", "y")]]


def test_long_lines_are_looked_at_once_for_each_who_waits() -> None:
    class Counted(list[Claim]):
        looks = 0

        def __getitem__(self, at: Any) -> Any:
            found = super().__getitem__(at)
            Counted.looks += len(found) if isinstance(at, slice) else 1
            return found

    count = 200
    waiting = [wants(f"w{number}", "a") for number in range(count)]
    search = _Search([Line([holds("x", "a")], waiting), Line([holds("w199", "b")], [wants("x", "b")])])
    search._lines = [Counted(line) for line in search._lines]  # type: ignore[misc]
    assert all(search.shortest_circle(who) for who in search.places)
    assert Counted.looks < 5 * count**2
