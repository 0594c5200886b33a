"""An agent that answers each request in time, and never what was hoped for: a call is over with the time of one."""

import asyncio
import socket
import threading
from typing import Any

import pytest

from fencepost import Unavailable
from fencepost._runtime import aio, threads
from fencepost.core.claim import Ask, Request
from fencepost.core.holder import Holder
from fencepost.core.url import parse_url
from fencepost.engines.consul._async.engine import AsyncConsulEngine
from fencepost.engines.consul._sync.engine import ConsulEngine
from fencepost.engines.consul.lease import Lease
from tests.support.hostile import Hostile

PATIENCE, PAUSE = 1.0, 0.05
# A claim is tried a hundred times, and each of them asks the agent at least once.
MOST = 50
CONFLICT = b'{"Errors":[{"OpIndex":1,"What":"somebody was quicker"}]}'
ANSWER = b"HTTP/1.1 409 Conflict\r\nContent-Length: %d\r\n\r\n%b" % (len(CONFLICT), CONFLICT)
HOLDER = Holder("holder", "holder")
REQUEST = Request(HOLDER, 1, (Ask("a"),))


class Busy:
    """The speech of an agent where somebody else is always quicker."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self, call: socket.socket, over: threading.Event) -> None:
        while call.recv(65_536):
            self.asked += 1
            over.wait(PAUSE)
            call.sendall(ANSWER)


def with_a_lease(engine: Any) -> Any:
    lease = engine._leases[HOLDER.id] = Lease(HOLDER, 60.0, "")
    lease.session = "session"
    return engine


def test_a_claim_that_others_get_in_the_way_of_takes_no_longer_than_one_exchange() -> None:
    speech = Busy()
    with Hostile(speech) as agent:
        url = parse_url(f"consul://127.0.0.1:{agent.port}")
        engine = with_a_lease(ConsulEngine(url, clock=threads.BootClock(), patience=PATIENCE))
        with pytest.raises(Unavailable):
            engine.claim(REQUEST, wait=True)
        assert speech.asked < MOST
        assert engine._leases[HOLDER.id].is_in_doubt(1)
        engine._store.close()


async def test_a_task_that_claims_is_back_as_soon() -> None:
    speech = Busy()
    with Hostile(speech) as agent:
        url = parse_url(f"consul://127.0.0.1:{agent.port}")
        engine = with_a_lease(AsyncConsulEngine(url, clock=aio.BootClock(), patience=PATIENCE))
        with pytest.raises(Unavailable):
            await engine.claim(REQUEST, wait=True)
        assert speech.asked < MOST
        assert engine._leases[HOLDER.id].is_in_doubt(1)
        engine._store.close()
        await asyncio.sleep(0)
