"""A caller with little time left, at a server that is only slow: nobody else is to leave that server for it."""

import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from fencepost import Unavailable
from fencepost._runtime.threads import BootClock, Limit
from fencepost.contract import registry
from fencepost.core.url import parse_url
from fencepost.drivers.etcd.endpoint import Endpoints
from fencepost.drivers.etcd.http2 import SETTINGS, frame
from fencepost.drivers.etcd.request import KV_RANGE
from fencepost.drivers.etcd.wire import threads as etcd
from fencepost.engines.consul.address import locate
from fencepost.engines.consul.wire import threads as consul
from fencepost.testing.condition import until
from tests.support.hostile import Hostile, Speech

LASTING = 60.0
HURRY = 0.05
ASKED = b"GET / HTTP/1.1\r\n\r\n"


def silent(call: socket.socket, over: threading.Event) -> None:
    over.wait(LASTING)


def greeting(call: socket.socket, over: threading.Event) -> None:
    call.sendall(frame(SETTINGS, 0, 0))
    over.wait(LASTING)


def hurried() -> Limit:
    clock = BootClock()
    return Limit(clock, clock.now() + HURRY)


@pytest.mark.parametrize("speech", [silent, greeting])
def test_a_caller_in_a_hurry_leaves_the_member_of_etcd_to_the_others(speech: Speech) -> None:
    with Hostile(speech) as first, Hostile(greeting) as second, Hostile(greeting) as third:
        url = parse_url(f"etcd://{','.join(f'127.0.0.1:{each.port}' for each in (first, second, third))}")
        link = etcd.Link(Endpoints(url), LASTING)
        before = link.endpoints.current
        idle = [link.connect(), link.connect()] if speech is greeting else []
        for each in idle:
            link.give_back(each)
        with hurried(), pytest.raises(Unavailable):
            link.call(KV_RANGE, b"")
        assert link.endpoints.current == before
        assert link._free == idle[:1]
        link.close()


def test_a_caller_that_is_interrupted_leaves_the_member_of_etcd_to_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> bytes:
        raise KeyboardInterrupt

    with Hostile(greeting) as first, Hostile(greeting) as second:
        url = parse_url(f"etcd://127.0.0.1:{first.port},127.0.0.1:{second.port}")
        link = etcd.Link(Endpoints(url), LASTING)
        before = link.endpoints.current
        monkeypatch.setattr(etcd.Connection, "call", interrupted)
        with pytest.raises(KeyboardInterrupt):
            link.call(KV_RANGE, b"")
        assert link.endpoints.current == before
        link.close()


@pytest.mark.parametrize("watches", [False, True], ids=["a call", "a watch"])
def test_a_caller_in_a_hurry_leaves_the_agent_of_consul_to_the_others(
    watches: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stuck(*_: object) -> None:
        raise TimeoutError

    with Hostile(silent) as first, Hostile(silent) as second:
        hosts = locate(parse_url(f"consul://127.0.0.1:{first.port},127.0.0.1:{second.port}")).hosts
        link = consul.Link(hosts, LASTING)
        if watches:
            # An agent that does not even read.
            monkeypatch.setattr(consul.Connection, "send", stuck)
        with hurried(), pytest.raises(Unavailable):
            if watches:
                link.watch(ASKED, BootClock().now() + LASTING, consul.Watch())
            else:
                link.call(ASKED)
        assert link.host == hosts[0]
        link.close()


def looks(engine: Any) -> None:
    engine.look("a")


def watches(engine: Any) -> None:
    engine.cells.watch("a", 0, LASTING)


def listens(engine: Any) -> None:
    engine._channel.listen()


@pytest.mark.parametrize(
    ("url", "call"),
    [
        ("zookeeper://127.0.0.1:{}", looks),
        ("redis+cluster://127.0.0.1:{}", looks),
        ("redis+sentinel://127.0.0.1:{}/service", looks),
        ("etcd://127.0.0.1:{}", watches),
        ("postgresql://127.0.0.1:{}/test", listens),
    ],
)
def test_a_caller_in_a_hurry_does_not_wait_for_one_who_is_not(url: str, call: Callable[[Any], None]) -> None:
    """Both need the same connection, or the same answer, and one of them asks for both."""
    with Hostile(silent) as server:
        address = parse_url(url.format(server.port))
        engine = registry.engine(address.scheme)(address, clock=BootClock(), patience=LASTING)

        def wait_long() -> None:
            with suppress(Unavailable):
                call(engine)

        other = threading.Thread(target=wait_long)
        other.start()
        until(lambda: server.calls)
        with hurried(), pytest.raises(Unavailable):
            call(engine)
        assert other.is_alive()
    other.join()
    engine.close()
