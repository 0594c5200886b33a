"""A blocking call in a program with a timer: signals whose handlers do nothing of note put off no time-out."""

import socket
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from fencepost import AcquireTimeout, EngineError, Unavailable, connect
from fencepost._runtime.threads import BootClock
from fencepost.contract.registry import engine
from fencepost.core.url import parse_url
from fencepost.drivers.etcd.http2 import SETTINGS, frame
from fencepost.engines.redis.address import Address
from fencepost.engines.redis.wire import threads as redis
from fencepost.engines.zookeeper.wire import threads as zookeeper
from tests.support.hostile import Hostile, Speech
from tests.support.ticking import LASTING, ticking

PATIENCE = 0.5


def silent(call: socket.socket, over: threading.Event) -> None:
    over.wait(LASTING * 3)


def greeting(call: socket.socket, over: threading.Event) -> None:
    call.sendall(frame(SETTINGS, 0, 0))
    over.wait(LASTING * 3)


@pytest.mark.parametrize(
    ("scheme", "speech"),
    [
        ("redis", silent),
        ("etcd", silent),
        ("etcd", greeting),
        ("consul", silent),
        ("zookeeper", silent),
        ("postgresql", silent),
        ("postgresql+advisory", silent),
    ],
)
def test_a_call_of_a_silent_server_is_back_in_time(scheme: str, speech: Speech) -> None:
    with Hostile(speech) as server:
        url = parse_url(f"{scheme}://127.0.0.1:{server.port}")
        made = engine(scheme)(url, clock=BootClock(), patience=PATIENCE)
        with ticking() as tired:
            with pytest.raises(EngineError):
                made.look("a")
            assert not tired.is_set()
        made.close()


def by_redis(port: int, large: bytes) -> None:
    redis.Link(Address(port=port), PATIENCE).call(large)


def several_by_redis(port: int, large: bytes) -> None:
    redis.Link(Address(port=port), PATIENCE).calls(large, 2)


def by_redis_cluster(port: int, large: bytes) -> None:
    (found,) = redis.scatter([(redis.Link(Address(port=port), PATIENCE), large, 1)])
    assert isinstance(found, Unavailable)
    raise found


def by_zookeeper(port: int, large: bytes) -> None:
    connection = zookeeper.Connection(PATIENCE, lambda path, gone: None)
    connection.open(("127.0.0.1", port), None, LASTING)
    connection.call([large])


@pytest.mark.parametrize("ask", [by_redis, several_by_redis, by_redis_cluster, by_zookeeper])
def test_what_a_server_does_not_take_in_is_given_up_in_time(ask: Callable[[int, bytes], None]) -> None:
    with Hostile(silent) as server, ticking() as tired:
        with pytest.raises((EngineError, TimeoutError)):
            ask(server.port, bytes(64 << 20))
        assert not tired.is_set()


@pytest.mark.parametrize("scheme", ["memory", "sqlite"])
def test_whoever_waits_for_a_lock_gives_up_in_time(scheme: str, tmp_path: Path) -> None:
    url = f"{scheme}://{tmp_path}/state"
    with connect(url, ttl=LASTING * 3) as one, connect(url, ttl=LASTING * 3) as other:
        one.lock("a").acquire()
        with ticking() as tired:
            with pytest.raises(AcquireTimeout):
                other.lock("a").acquire(timeout=PATIENCE)
            assert not tired.is_set()
