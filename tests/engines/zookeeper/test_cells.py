"""Threads that watch cells through one session."""

import threading
from typing import Any

import pytest

from fencepost._runtime.threads import BootClock
from fencepost.core.url import parse_url
from fencepost.engines.zookeeper._sync import cells as module
from fencepost.engines.zookeeper._sync.cells import Cells
from fencepost.engines.zookeeper.address import locate
from fencepost.engines.zookeeper.ground import Ground
from fencepost.engines.zookeeper.waiter import Waiter

pytestmark = pytest.mark.unit


def unconnected() -> Cells:
    return Cells(Ground(locate(parse_url("zookeeper://127.0.0.1"))), clock=BootClock(), patience=10)


def test_one_that_begins_to_watch_as_the_last_who_watched_leaves_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    cells = unconnected()
    first, path = Waiter(), cells._ground.folder.cell("a")
    cells._watched[path] = [first]
    leaving = threading.Thread(target=cells._forget, args=[path, first])

    class Watched(dict[bytes, list[Any]]):
        def setdefault(self, key: bytes, default: Any = None) -> Any:
            found = super().setdefault(key, default)
            leaving.start()
            # As long as it takes if nothing keeps it from that, and no longer if something does.
            leaving.join(0.2)
            return found

    told: list[Waiter] = []

    def read(path: bytes, *, watch: bool) -> Any:
        leaving.join()
        cells._heard(path, False)
        told.extend(each for each in cells._watched[path] if each.stirred)
        raise TimeoutError

    cells._watched = Watched(cells._watched)
    monkeypatch.setattr(cells, "_read", read)
    with pytest.raises(TimeoutError):
        cells.watch("a", 0, 10)
    assert len(told) == 1
    assert not cells._watched


def test_threads_that_come_at_once_share_one_session(monkeypatch: pytest.MonkeyPatch) -> None:
    cells = unconnected()
    found: list[Any] = []
    other = threading.Thread(target=lambda: found.append(cells._session()))
    make = vars(module)["Link"]

    def made(*args: Any, **named: Any) -> Any:
        if not other.ident:
            other.start()
            other.join(0.2)
        return make(*args, **named)

    monkeypatch.setattr(module, "Link", made)
    found.append(cells._session())
    other.join()
    assert found[0] is found[1]
