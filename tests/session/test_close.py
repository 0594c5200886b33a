"""Closing a session ends what others of its threads are at."""

import threading

import pytest

import fencepost
from fencepost.testing.condition import until

pytestmark = pytest.mark.unit
# What a busy machine needs at most, and less than a pause between two asks of so long a lease.
SOON, LEASE = 20.0, 36_000.0


def test_whoever_asks_an_engine_that_does_not_answer_hears_of_the_close_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = threading.Event()
    raised: list[BaseException] = []

    def claim(*_: object, **__: object) -> None:
        asked.set()
        raise fencepost.Unavailable("told so by the test")

    def ask() -> None:
        try:
            session.lock("a").acquire()
        except fencepost.FencepostError as error:
            raised.append(error)

    with fencepost.connect("memory://closing", ttl=LEASE) as session:
        session.keeper()
        monkeypatch.setattr(session.engine, "claim", claim)
        asking = threading.Thread(target=ask, daemon=True)
        asking.start()
        asked.wait()
        session.close()
        until(lambda: not asking.is_alive(), SOON)
    assert [type(error) for error in raised] == [fencepost.SessionClosed]
