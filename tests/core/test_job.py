import pytest

from fencepost.core.job import Outcome, begun, ended, last

pytestmark = pytest.mark.unit


def test_a_tick_is_begun_once_and_a_later_one_too() -> None:
    document = begun({}, 60, 1, "a", again=False)
    assert document is not None
    assert last(document) == Outcome(60, 1, "a", "running")
    assert begun(document, 60, 2, "b", again=False) is None
    assert begun(document, 0, 2, "b", again=False) is None
    assert begun(document, 120, 2, "b", again=False) is not None


def test_what_failed_or_was_left_is_begun_again_only_if_that_is_wanted() -> None:
    running = begun({}, "v2", 1, "a", again=True)
    assert running is not None
    assert begun(running, "v2", 2, "b", again=True) is not None
    assert begun(running, "v2", 2, "b", again=False) is None
    done = ended(running, Outcome("v2", 1, "a", "done"))
    assert done is not None
    assert begun(done, "v2", 2, "b", again=True) is None
    assert begun(done, "v3", 2, "b", again=True) is not None


def test_a_stale_runner_changes_nothing() -> None:
    newer = begun({}, 60, 5, "b", again=False)
    assert newer is not None
    assert ended(newer, Outcome(0, 4, "a", "done")) is None
    assert begun(newer, 120, 4, "a", again=False) is None
