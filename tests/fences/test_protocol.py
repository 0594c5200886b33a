"""What every fence promises, asked of each."""

import threading
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fencepost.errors import Stale
from fencepost.fences import check, token_of
from tests.support.fences.desk import NAME, Place
from tests.support.fences.place import LETS_IN_AGAIN, PLACES, UNDOES, interrupted

from .conftest import with_tier


def test_a_name_without_a_mark_has_0(place: Place) -> None:
    assert place.open().fence.highest(NAME) == 0


def test_asking_for_the_mark_leaves_none(place: Place) -> None:
    desk = place.open()
    desk.fence.highest(NAME)
    desk.add(1, "any token passes")
    assert place.look() == ["any token passes"]


def test_a_lower_token_is_refused_and_nothing_is_written(place: Place) -> None:
    place.open().add(5, "new")
    with pytest.raises(Stale) as refusal:
        place.open().add(4, "old")
    assert (refusal.value.name, refusal.value.token, refusal.value.highest) == (NAME, 4, 5)
    assert place.look() == ["new"]


def test_a_lower_token_does_not_enter_the_block(place: Place) -> None:
    place.open().fence.claim(NAME, 5)
    entered = False
    with pytest.raises(Stale), place.open().fence.guard(NAME, 4):
        entered = True
    assert not entered


def test_a_refused_token_leaves_the_mark_and_the_fence_usable(place: Place) -> None:
    desk = place.open()
    desk.fence.claim(NAME, 5)
    with pytest.raises(Stale):
        desk.fence.claim(NAME, 4)
    assert desk.fence.highest(NAME) == 5
    desk.add(5, "still works")
    place.open().add(6, "for others too")
    assert place.look() == ["still works", "for others too"]


def test_an_equal_token_passes_as_the_same_holders_second_write(place: Place) -> None:
    desk = place.open()
    desk.add(5, "first")
    desk.add(5, "second")
    assert place.look() == ["first", "second"]


def test_a_higher_token_passes_and_becomes_the_mark(place: Place) -> None:
    desk = place.open()
    desk.add(5, "first")
    desk.add(2**63 - 1, "last")
    assert desk.fence.highest(NAME) == 2**63 - 1
    assert place.look() == ["first", "last"]


def test_a_claim_refuses_older_holders_before_anything_is_written(place: Place) -> None:
    place.open().fence.claim(NAME, 5)
    with pytest.raises(Stale):
        place.open().add(4, "old")
    assert place.open().fence.highest(NAME) == 5
    assert place.look() == []


def test_a_block_that_raises_keeps_its_claim(place: Place) -> None:
    desk = place.open()
    with interrupted(desk.fence.guard(NAME, 5)) as guarded:
        desk.read(guarded)
    assert place.open().fence.highest(NAME) == 5
    with pytest.raises(Stale):
        place.open().add(4, "old")


@pytest.mark.parametrize("kind", [with_tier(kind) for kind in UNDOES], indirect=True)
def test_a_block_that_raises_undoes_its_writes(place: Place) -> None:
    desk = place.open()
    desk.add(5, "kept")
    with interrupted(desk.fence.guard(NAME, 5)) as guarded:
        desk.write(guarded, ["undone"])
        assert desk.read(guarded) == ["undone"]
    assert place.look() == ["kept"]
    desk.add(5, "after")
    assert place.look() == ["kept", "after"]


def test_names_do_not_share_a_mark(place: Place) -> None:
    fence = place.open().fence
    names = ["a", "A", "ä", "a ", "a/b", "'; DROP TABLE list; --", '{"a": 1}', "two\nlines", "%s", "é" * 1024]
    for token, name in enumerate(names, start=1):
        fence.claim(name, token)
    assert [place.open().fence.highest(name) for name in names] == list(range(1, len(names) + 1))


def test_guards_of_two_names_nest(place: Place) -> None:
    desk = place.open()
    with desk.fence.guard("a", 3) as outer:
        desk.write(outer, ["outer"])
        with desk.fence.guard("b", 7) as inner:
            desk.write(inner, [*desk.read(inner), "inner"])
    assert (desk.fence.highest("a"), desk.fence.highest("b")) == (3, 7)
    assert place.look() == ["outer", "inner"]


@pytest.mark.parametrize("kind", [with_tier(kind) for kind in UNDOES], indirect=True)
def test_an_inner_guard_that_raises_undoes_its_own_writes_only(place: Place) -> None:
    desk = place.open()
    with desk.fence.guard("a", 3) as outer:
        desk.write(outer, ["outer"])
        with interrupted(desk.fence.guard("b", 7)) as inner:
            desk.write(inner, ["inner"])
    assert (desk.fence.highest("a"), desk.fence.highest("b")) == (3, 7)
    assert place.look() == ["outer"]


@pytest.mark.parametrize("kind", [with_tier(kind) for kind in UNDOES], indirect=True)
def test_an_outer_guard_that_raises_undoes_all_writes_and_keeps_the_inner_claim(place: Place) -> None:
    desk = place.open()
    with interrupted(desk.fence.guard("a", 3)), desk.fence.guard("b", 7) as inner:
        desk.write(inner, ["inner"])
    assert (desk.fence.highest("a"), desk.fence.highest("b")) == (3, 7)
    assert place.look() == []


@pytest.mark.parametrize("outer_raises", [False, True])
def test_the_innermost_claim_stands_though_the_guards_around_it_raise(place: Place, outer_raises: bool) -> None:
    fence = place.open().fence
    with nullcontext() if not outer_raises else pytest.raises(ZeroDivisionError), fence.guard("a", 3):
        with interrupted(fence.guard("b", 5)), fence.guard("c", 7):
            pass
        # A place that this guard takes may not be one that a guard has left.
        with fence.guard("d", 9):
            pass
        if outer_raises:
            raise ZeroDivisionError
    assert [place.open().fence.highest(name) for name in "abcd"] == [3, 5, 7, 9]


def test_a_stale_inner_guard_leaves_the_outer_one_working(place: Place) -> None:
    desk = place.open()
    desk.fence.claim("b", 8)
    with desk.fence.guard("a", 3) as outer:
        with pytest.raises(Stale), desk.fence.guard("b", 7):
            pass
        desk.write(outer, ["outer"])
    assert place.look() == ["outer"]
    assert desk.fence.highest("b") == 8


@pytest.mark.parametrize("shown_before", [False, True])
def test_nobody_is_let_in_while_a_block_runs(place: Place, shown_before: bool) -> None:
    order: list[str] = []
    if shown_before:
        place.open().fence.claim(NAME, 1)
    inside, trying = threading.Event(), threading.Event()

    def newer() -> None:
        inside.wait()
        desk = place.open()
        trying.set()
        with desk.fence.guard(NAME, 2) as guarded:
            order.append("newer")
            desk.write(guarded, [*desk.read(guarded), "newer"])

    thread = threading.Thread(target=newer)
    thread.start()
    desk = place.open()
    with desk.fence.guard(NAME, 1) as guarded:
        seen = desk.read(guarded)
        inside.set()
        trying.wait()
        # Long enough for a fence that does not hold others off to let the newer one in. If not, nothing is found out.
        thread.join(0.1)
        desk.write(guarded, [*seen, "older"])
        order.append("older")
    thread.join()
    assert order == ["older", "newer"]
    assert place.look() == ["older", "newer"]


@pytest.mark.parametrize("kind", [with_tier(kind) for kind in LETS_IN_AGAIN], indirect=True)
def test_whoever_waited_for_a_block_is_judged_by_the_mark_that_it_left(place: Place) -> None:
    told: list[object] = []
    inside, trying = threading.Event(), threading.Event()

    def between() -> None:
        inside.wait()
        fence = place.open().fence
        trying.set()
        try:
            fence.claim(NAME, 2)
        except Stale as refusal:
            told.append((refusal.token, refusal.highest))
        else:
            told.append("passed")

    thread = threading.Thread(target=between)
    thread.start()
    fence = place.open().fence
    with fence.guard(NAME, 1):
        inside.set()
        trying.wait()
        # Long enough for it to have looked at the mark, if it does so before it waits. If not, nothing is found out.
        thread.join(0.1)
        fence.claim(NAME, 3)
    thread.join()
    assert told == [(2, 3)]
    assert place.open().fence.highest(NAME) == 3


@dataclass
class Message:
    token: int


def test_a_grant_is_anything_with_a_token(place: Place) -> None:
    fence = place.open().fence
    fence.claim(NAME, Message(token=9))
    assert fence.highest(NAME) == 9
    with fence.guard(NAME, Message(token=10)):
        pass
    assert fence.highest(NAME) == 10


@pytest.mark.parametrize("grant", [0, -1, 2**63, True, "7", None, 7.0, Message(token="7")])  # type: ignore[arg-type]
def test_what_is_not_a_token_is_refused_before_anything_happens(place: Place, grant: int) -> None:
    fence = place.open().fence
    with pytest.raises((ValueError, TypeError), match="token"):
        fence.claim(NAME, grant)
    assert fence.highest(NAME) == 0


@pytest.mark.parametrize("name", ["", "x" * 1025, "a\0b", "\ud800", 7])
def test_what_is_not_a_name_is_refused(place: Place, name: str) -> None:
    fence = place.open().fence
    for attempt in (fence.highest, lambda name: fence.claim(name, 1)):
        with pytest.raises((ValueError, TypeError)):
            attempt(name)


def test_there_is_no_way_to_lower_a_mark(place: Place) -> None:
    offered = {method for method in dir(place.open().fence) if not method.startswith("_")}
    assert offered <= {"claim", "guard", "highest", "read", "write", "execute", "install"}


@pytest.mark.unit
@pytest.mark.parametrize(("token", "highest"), [(1, 0), (5, 5), (6, 5)])
def test_the_rule_makes_an_equal_or_higher_token_the_mark(token: int, highest: int) -> None:
    assert check(NAME, token, highest) == token


@pytest.mark.unit
def test_the_rule_refuses_a_lower_token() -> None:
    with pytest.raises(Stale, match="token 4 for 'orders/42' is stale: token 5 was seen already"):
        check(NAME, 4, 5)


@pytest.mark.unit
def test_the_token_of_what_has_none_names_what_was_passed() -> None:
    with pytest.raises(TypeError, match="a grant or its integer token, not dict"):
        token_of({})  # type: ignore[arg-type]


STEPS = st.lists(
    st.tuples(st.sampled_from(["claim", "guard", "raise"]), st.sampled_from(["a", "b"]), st.integers(1, 6)),
    max_size=20,
)


@pytest.mark.parametrize("kind", [with_tier(kind) for kind in ("memory", "sqlite", "file", "postgresql")])
@settings(max_examples=25, deadline=None)
@given(steps=STEPS)
def test_accepted_tokens_never_decrease_and_the_mark_is_the_highest(
    kind: str, steps: list[tuple[str, str, int]]
) -> None:
    accepted: dict[str, list[int]] = {"a": [], "b": []}
    refused: list[tuple[int, int, int]] = []
    with TemporaryDirectory() as folder:
        place = PLACES[kind](Path(folder))
        for step, name, token in steps:
            desk = place.open()
            try:
                match step:
                    case "claim":
                        desk.fence.claim(name, token)
                    case "guard":
                        desk.add(token, f"{name}{token}", name)
                    case "raise":
                        with interrupted(desk.fence.guard(name, token)):
                            pass
                accepted[name].append(token)
            except Stale as refusal:
                refused.append((token, max(accepted[name]), refusal.highest))
        marks = {name: place.open().fence.highest(name) for name in accepted}
        place.close()
    assert all(tokens == sorted(tokens) for tokens in accepted.values())
    assert all(token < highest == reported for token, highest, reported in refused)
    assert marks == {name: max(tokens, default=0) for name, tokens in accepted.items()}
