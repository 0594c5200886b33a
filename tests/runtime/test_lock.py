"""Blocks under a lock, interrupted at each point where the interpreter takes signals."""

import itertools
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest

from fencepost.engines.sqlite.cell import CellFile
from fencepost.fences import MemoryFence
from fencepost.fences.result.shelf import Shelf
from fencepost.session.statistics import Tally
from tests.support.interruption import interrupt_at

pytestmark = pytest.mark.unit

Locked = tuple[AbstractContextManager[object], Callable[[], object]]


def cells() -> Locked:
    file = CellFile("/nowhere/cells.db", 1.0)
    file.close()
    return file._use, file.close


def fence() -> Locked:
    fence = MemoryFence()
    return fence._lock, lambda: fence.claim("a", 5)


def results() -> Locked:
    shelf = Shelf()
    return shelf._lock, lambda: shelf.claim("a", 5)


def statistics() -> Locked:
    tally = Tally()
    return tally._lock, tally.denial


@pytest.mark.parametrize("make", [cells, fence, results, statistics])
def test_an_interruption_at_any_point_of_a_locked_block_leaves_it_free_for_others(make: Callable[[], Locked]) -> None:
    for point in itertools.count():
        lock, work = make()
        where = interrupt_at(point, work)
        # Another thread: the lock of a fence lets its own thread in again.
        entering = threading.Thread(target=lambda lock=lock: lock.__enter__(), daemon=True)
        entering.start()
        entering.join(20.0)
        assert not entering.is_alive(), where
        if where is None:
            break
    assert point > 1
