"""The one thread that watches idle connections."""

import socket
import sys
import threading
from types import TracebackType

import pytest

from fencepost.engines.postgresql.wire.watch import Looked, Watch, Watched

pytestmark = pytest.mark.unit


@pytest.fixture(params=[Watched, Looked])
def watch(request: pytest.FixtureRequest) -> Watch:
    found: Watch = request.param()
    return found


class Connection:
    """One on which nobody has asked anything."""

    asked = 1.0

    def __init__(self, end: socket.socket) -> None:
        self.fileno = end.fileno()


def test_a_callback_that_fails_is_reported_and_the_others_are_called(
    watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    reported: list[type[BaseException]] = []

    def report(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        reported.append(kind)

    monkeypatch.setattr(sys, "excepthook", report)
    failed, told = threading.Event(), threading.Event()

    def fail() -> None:
        failed.set()
        raise SystemExit

    first, far_first = socket.socketpair()
    second, far_second = socket.socketpair()
    with first, far_first, second, far_second:
        watch.end(Connection(first), fail)
        far_first.close()
        assert failed.wait(60)
        watch.end(Connection(second), told.set)
        far_second.close()
        assert told.wait(60)
    assert reported == [SystemExit]


def test_an_end_that_comes_with_the_last_news_is_told_after_them(watch: Watch) -> None:
    near, far = socket.socketpair()
    ended = threading.Event()

    def read() -> None:
        if not near.recv(1):
            watch.remove(near.fileno())
            ended.set()

    with near:
        far.send(b"!")
        far.close()
        watch.news(near.fileno(), read)
        assert ended.wait(60)


def test_a_thread_that_could_not_be_started_is_started_the_next_time(
    watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_room(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    near, far = socket.socketpair()
    ended = threading.Event()
    with near, far:
        with monkeypatch.context() as patch:
            patch.setattr(threading.Thread, "start", no_room)
            with pytest.raises(RuntimeError):
                watch.end(Connection(near), ended.set)
        watch.end(Connection(near), ended.set)
        far.close()
        assert ended.wait(60)
