"""Why reads count: the order of events that loses an update unless the newer holder claims before it reads.

The older holder reads and is paused; the newer one reads; the older wakes and writes; the newer writes.
"""

import pytest

from fencepost.errors import Stale
from tests.support.fences.desk import NAME, Place
from tests.support.fences.place import interrupted


def test_fencing_writes_only_loses_an_acknowledged_update(place: Place) -> None:
    older, newer = place.open(), place.open()
    with older.fence.guard(NAME, 1) as guarded:
        seen_by_older = older.read(guarded)
    seen_by_newer = list(place.look())  # the mistake: a read that shows no token

    with older.fence.guard(NAME, 1) as guarded:
        older.write(guarded, [*seen_by_older, "older"])  # acknowledged: no higher token was shown yet
    with newer.fence.guard(NAME, 2) as guarded:
        newer.write(guarded, [*seen_by_newer, "newer"])

    assert place.look() == ["newer"]


def test_fencing_reads_too_loses_nothing_that_was_acknowledged(place: Place) -> None:
    older, newer = place.open(), place.open()
    with older.fence.guard(NAME, 1) as guarded:
        seen_by_older = older.read(guarded)
    with newer.fence.guard(NAME, 2) as guarded:
        seen_by_newer = newer.read(guarded)

    with pytest.raises(Stale), older.fence.guard(NAME, 1) as guarded:
        older.write(guarded, [*seen_by_older, "older"])
    with newer.fence.guard(NAME, 2) as guarded:
        newer.write(guarded, [*seen_by_newer, "newer"])

    assert place.look() == ["newer"]


def test_a_claim_before_an_unguarded_read_is_as_good(place: Place) -> None:
    older, newer = place.open(), place.open()
    older.add(1, "early")
    newer.fence.claim(NAME, 2)
    seen_by_newer = list(place.look())

    with pytest.raises(Stale):
        older.add(1, "late")
    with newer.fence.guard(NAME, 2) as guarded:
        newer.write(guarded, [*seen_by_newer, "newer"])

    assert place.look() == ["early", "newer"]


def test_what_a_raising_block_has_read_stays_safe_to_write_from(place: Place) -> None:
    older, newer = place.open(), place.open()
    older.add(1, "early")
    with interrupted(newer.fence.guard(NAME, 2)) as guarded:
        seen = newer.read(guarded)

    with pytest.raises(Stale):
        older.add(1, "late")
    with newer.fence.guard(NAME, 2) as guarded:
        newer.write(guarded, [*seen, "newer"])

    assert place.look() == ["early", "newer"]
