import pytest

from fencepost.core.job import REMEMBERED_TICKS, Document, Outcome, Tick, begun, ended, last

pytestmark = pytest.mark.unit
NOW = 1_000_000.0


def test_a_tick_is_begun_once_and_a_later_one_too() -> None:
    document = begun({}, 60, 1, "a", again=False, now=NOW)
    assert document is not None
    assert last(document) == Outcome(60, 1, "a", "running")
    assert begun(document, 60, 2, "b", again=False, now=NOW) is None
    assert begun(document, 0, 2, "b", again=False, now=NOW) is None
    assert begun(document, 120, 2, "b", again=False, now=NOW) is not None


def test_what_failed_or_was_left_is_begun_again_only_if_that_is_wanted() -> None:
    running = begun({}, "v2", 1, "a", again=True, now=NOW)
    assert running is not None
    assert begun(running, "v2", 2, "b", again=True, now=NOW) is not None
    assert begun(running, "v2", 2, "b", again=False, now=NOW) is None
    done = ended(running, Outcome("v2", 1, "a", "done"))
    assert done is not None
    assert begun(done, "v2", 2, "b", again=True, now=NOW) is None
    assert begun(done, "v3", 2, "b", again=True, now=NOW) is not None


def test_a_stale_runner_changes_nothing() -> None:
    newer = begun({}, 60, 5, "b", again=False, now=NOW)
    assert newer is not None
    assert ended(newer, Outcome(0, 4, "a", "done")) is None
    assert begun(newer, 120, 4, "a", again=False, now=NOW) is None


def test_what_was_done_once_stays_done_whatever_comes_between() -> None:
    document: Document | None = {}
    ticks: tuple[Tick, ...] = ("v1", "v2", 60)
    for token, tick in enumerate(ticks, start=1):
        assert document is not None
        document = begun(document, tick, token, "a", again=True, now=NOW)
        assert document is not None
        document = ended(document, Outcome(tick, token, "a", "done"))
    assert document is not None
    assert begun(document, "v1", 4, "b", again=True, now=NOW) is None
    assert last(document, "v1") == Outcome("v1", 1, "a", "done")
    assert last(document, "v3") is None
    assert begun(document, "v3", 4, "b", again=True, now=NOW) is not None


def test_what_failed_once_is_not_remembered_as_done() -> None:
    failed = ended(begun({}, "v1", 1, "a", again=True, now=NOW) or {}, Outcome("v1", 1, "a", "failed"))
    between = begun(failed or {}, "v2", 2, "a", again=True, now=NOW)
    assert begun(between or {}, "v1", 3, "b", again=True, now=NOW) is not None


def test_the_latest_thousand_are_remembered() -> None:
    document: Document = {}
    for token in range(1, 1002):
        document = begun(document, f"v{token}", token, "a", again=True, now=NOW) or {}
        document = ended(document, Outcome(f"v{token}", token, "a", "done")) or {}
    assert begun(document, "v2", 2000, "b", again=True, now=NOW) is None
    assert len(document["done"]) == 1000


def test_a_tick_ahead_of_the_clock_does_not_count_as_later() -> None:
    document = begun({}, 5_000_000, 1, "ahead", again=False, now=5_000_000.0)
    assert document is not None
    for tick in (990_000, 990_060):
        document = begun(document, tick, 2, "right", again=False, now=NOW)
        assert document is not None
        assert begun(document, tick, 3, "late", again=False, now=tick - 1000.0) is None
    assert begun(document, 990_000, 3, "late", again=False, now=NOW) is None
    assert begun(document, 5_000_000, 3, "right", again=False, now=5_000_000.0) is None


def test_a_tick_older_than_all_that_are_remembered_is_over_for_any_clock() -> None:
    document: Document = {}
    for tick in range(1000, 1000 + 2 * REMEMBERED_TICKS):
        document = begun(document, tick, 1, "right", again=False, now=NOW) or {}
    assert len(document["ticks"]) == REMEMBERED_TICKS
    assert begun(document, 1000, 2, "very late", again=False, now=1000.0) is None
