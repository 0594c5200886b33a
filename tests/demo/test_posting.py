"""The three ways of posting, played through without processes: an old holder wakes up at the worst moment."""

from pathlib import Path
from typing import Any

import pytest

from fencepost import Stale
from fencepost.demo.ledger import Ledger
from fencepost.demo.posting import Fencing, post

pytestmark = pytest.mark.unit

OLD: Any = 1
NEW: Any = 2


@pytest.fixture
def ledger(tmp_path: Path) -> Any:
    ledger = Ledger(tmp_path / "ledger.db")
    yield ledger
    ledger.close()


def test_without_a_fence_the_old_holder_wipes_out_what_came_during_its_pause(ledger: Ledger) -> None:
    post(Fencing.NONE, ledger, OLD, "old", lambda: post(Fencing.NONE, ledger, NEW, "new", lambda: None))
    assert ledger.read() == ["old"]


def test_a_fence_on_writes_refuses_the_old_holder_once_the_new_one_has_written(ledger: Ledger) -> None:
    with pytest.raises(Stale):
        post(Fencing.WRITES, ledger, OLD, "old", lambda: post(Fencing.WRITES, ledger, NEW, "new", lambda: None))
    assert ledger.read() == ["new"]


def test_a_fence_on_writes_loses_what_the_old_holder_wrote_after_the_new_one_read(ledger: Ledger) -> None:
    post(Fencing.WRITES, ledger, NEW, "new", lambda: post(Fencing.WRITES, ledger, OLD, "old", lambda: None))
    assert ledger.read() == ["new"]


def test_the_full_fence_refuses_the_old_holder_as_soon_as_the_new_one_reads(ledger: Ledger) -> None:
    full = Fencing.READS_AND_WRITES

    def wake_up() -> None:
        with pytest.raises(Stale):
            post(full, ledger, OLD, "old", lambda: None)

    post(full, ledger, NEW, "new", wake_up)
    assert ledger.read() == ["new"]
