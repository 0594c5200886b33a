"""A signal handler that raises as the watch stream is ended: nobody takes what it heard for news from then on."""

import itertools
from contextlib import suppress

import pytest

from fencepost import Unavailable
from fencepost._runtime.threads import BootClock
from fencepost.contract.answer import Granted, Queued
from fencepost.core.claim import Ask, Request
from fencepost.core.holder import Holder
from fencepost.core.url import parse_url
from fencepost.engines.etcd._sync.engine import EtcdEngine
from fencepost.testing.etcd import shared_server
from tests.support.interruption import interrupt_at

LASTING = 120.0


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning")
def test_whoever_waits_hears_again_wherever_the_end_of_its_stream_was_interrupted() -> None:
    for point in itertools.count():
        engine = EtcdEngine(parse_url(f"etcd://127.0.0.1:{shared_server()}"), clock=BootClock(), patience=LASTING)
        holder = Holder(f"interrupted-{point}", "holder")
        engine.lease_open(holder, LASTING)
        ask = Ask(f"interrupted {point}")
        assert isinstance(engine.claim(Request(holder, 1, (ask,)), wait=False), Granted)
        waiting = Request(holder, 2, (ask,))
        queued = engine.claim(waiting, wait=True)
        assert isinstance(queued, Queued)
        where = interrupt_at(point, engine._ear.close)
        # It may be told that nothing can be heard. Then it asks how it stands, and hears.
        with suppress(Unavailable):
            engine.wait(queued, 0.01)
        queued = engine.claim(waiting, wait=True)
        assert isinstance(queued, Queued)
        assert engine._ear.is_open, f"after {where}"
        assert isinstance(engine.wait(queued, 0.01), Queued)
        engine.lease_close(holder)
        engine.close()
        if where is None:
            break
    assert point > 3
