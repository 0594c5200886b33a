"""Who is told of what the server tells."""

import threading
from typing import Any

import pytest

from fencepost.core.claim import Ask, Mode, Request
from fencepost.core.holder import Holder
from fencepost.engines.zookeeper.contender import Recipe
from fencepost.engines.zookeeper.lease import Entry, Lease

pytestmark = pytest.mark.unit


def reader(lease: Lease, serial: int) -> Entry:
    return lease.note(Request(Holder("0" * 24, "one"), serial, (Ask("a", Mode.SHARED),)), b"/a")


def test_a_reader_is_told_though_another_stops_watching_the_same_node_as_it_begins_to() -> None:
    lease = Lease("one", 10, Recipe("kazoo"))
    first, second = reader(lease, 1), reader(lease, 2)
    lease.watch(first, b"/a/writer")
    leaving = threading.Thread(target=lease.unwatch, args=[first])

    class Watched(dict[bytes, set[Any]]):
        def setdefault(self, key: bytes, default: Any = None) -> Any:
            found = super().setdefault(key, default)
            leaving.start()
            # As long as it takes if nothing keeps it from that, and no longer if something does.
            leaving.join(0.2)
            return found

    lease._watched = Watched(lease._watched)
    lease.watch(second, b"/a/writer")
    leaving.join()
    lease.heard(b"/a/writer", True)
    assert second.waiter is not None
    assert second.waiter.gone == {b"/a/writer"}
