import pytest

from fencepost.core.election import KEPT, MOST_UNITS, Leader, changes_since, latest, proclaim

pytestmark = pytest.mark.unit


def history(*terms: int) -> dict[str, object]:
    document: dict[str, object] = {}
    for term in terms:
        changed = proclaim(document, term, f"value {term}", "somebody")
        assert changed is not None
        document = changed
    return document


def test_the_latest_change_tells_who_leads() -> None:
    assert latest({}) == (0, None)
    assert latest(history(5, 9)) == (2, Leader(9, "value 9", "somebody"))


def test_a_term_that_is_over_proclaims_nothing() -> None:
    assert proclaim(history(5, 9), 5, "late", "old") is None
    assert proclaim(history(5, 9), 9, "again", "same") is not None


def test_an_observer_sees_every_change_after_its_last_one() -> None:
    assert [leader.term for _, leader in changes_since(history(3, 4, 5), 1)] == [4, 5]
    assert all(leader.missed == 0 for _, leader in changes_since(history(3, 4, 5), 1))


def test_an_observer_that_falls_behind_is_told_how_much_it_missed() -> None:
    long = history(*range(1, KEPT + 11))
    (number, first), *rest = changes_since(long, 4)
    assert (number, first.missed) == (11, 6)
    assert all(leader.missed == 0 for _, leader in rest)
    assert len(rest) == KEPT - 1


def test_an_observer_of_a_history_that_was_lost_sees_all_of_the_next() -> None:
    assert changes_since(history(3, 4, 5), 3) == []
    begun_anew = history(8, 9)
    assert [(number, leader.term, leader.missed) for number, leader in changes_since(begun_anew, 3)] == [
        (1, 8, 0),
        (2, 9, 0),
    ]
    assert changes_since({}, 3) == []


def test_large_values_push_out_the_earlier_ones_so_that_the_next_leader_finds_room() -> None:
    document: dict[str, object] = {}
    for term in range(1, KEPT + 1):
        document = proclaim(document, term, "x" * 8000, "somebody") or {}
    number, leader = latest(document)
    assert (number, leader) == (KEPT, Leader(KEPT, "x" * 8000, "somebody"))
    seen = changes_since(document, 0)
    assert len(seen) == MOST_UNITS // 8000
    assert seen[0][1].missed == KEPT - len(seen)
    # One that is too large by itself is for the engine to refuse.
    largest = proclaim(document, KEPT + 1, "x" * MOST_UNITS * 2, "somebody") or {}
    assert len(changes_since(largest, 0)) == 1


def test_values_are_as_large_as_json_writes_them() -> None:
    # A character outside of the basic plane takes twelve bytes there, as two others do.
    document: dict[str, object] = {}
    for term in range(1, KEPT + 1):
        document = proclaim(document, term, "\U0001f512" * 8000, "somebody") or {}
    assert len(changes_since(document, 0)) == MOST_UNITS // 16_000
    assert proclaim(document, KEPT + 1, "\ud800", "somebody")
