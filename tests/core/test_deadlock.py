import pytest

from fencepost.core.claim import Ask, Claim, Mode
from fencepost.core.deadlock import Wait, deadlocks, waits
from fencepost.core.holder import Holder

pytestmark = pytest.mark.unit


def holds(who: str, name: str) -> Claim:
    return Claim(Holder(who, who), 1, Ask(name), 5)


def wants(who: str, name: str, mode: Mode = Mode.EXCLUSIVE) -> Claim:
    return Claim(Holder(who, who), 2, Ask(name, mode))


def circles(*found: Wait) -> list[list[tuple[str, str, str]]]:
    return [
        [(wait.waiter.holder.id, wait.waiter.name, wait.blocker.holder.id) for wait in circle]
        for circle in deadlocks(found)
    ]


def test_two_that_want_what_the_other_holds_are_a_circle_told_once() -> None:
    found = [*waits([holds("x", "a")], [wants("y", "a")]), *waits([holds("y", "b")], [wants("x", "b")])]
    assert circles(*found) == [[("y", "a", "x"), ("x", "b", "y")]]


def test_a_line_without_an_end_that_bites_its_beginning_is_none() -> None:
    found = [*waits([holds("x", "a")], [wants("y", "a")]), *waits([holds("y", "b")], [wants("z", "b")])]
    assert circles(*found) == []


def test_three_in_a_circle_are_found_whoever_else_waits() -> None:
    found = [
        *waits([holds("x", "a")], [wants("w", "a"), wants("y", "a")]),
        *waits([holds("y", "b")], [wants("z", "b")]),
        *waits([holds("z", "c")], [wants("x", "c")]),
    ]
    assert [("y", "a", "x"), ("x", "c", "z"), ("z", "b", "y")] in circles(*found)


def test_whoever_came_before_is_in_the_way_as_well() -> None:
    # z reads 'a', x waits to write it, y would read it behind x, and y holds what x's other task waits for.
    found = [
        *waits([holds("z", "a")], [wants("x", "a"), wants("y", "a", Mode.SHARED)]),
        *waits([holds("y", "b")], [wants("x", "b")]),
    ]
    assert circles(*found) == [[("x", "b", "y"), ("y", "a", "x")]]


def test_a_session_that_waits_for_another_of_its_own_tasks_is_no_circle() -> None:
    assert circles(*waits([holds("x", "a")], [wants("x", "a")])) == []
