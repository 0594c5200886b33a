"""A blocking call in a program with a timer: signals whose handlers do nothing of note put off no time-out."""

import socket
import threading
from pathlib import Path

import pytest

from fencepost import AcquireTimeout, EngineError, connect
from fencepost._runtime.threads import BootClock
from fencepost.contract.registry import engine
from fencepost.core.url import parse_url
from fencepost.drivers.etcd.http2 import SETTINGS, frame
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


@pytest.mark.parametrize("scheme", ["memory", "sqlite"])
def test_whoever_waits_for_a_lock_gives_up_in_time(scheme: str, tmp_path: Path) -> None:
    url = f"{scheme}://{tmp_path}/state"
    with connect(url, ttl=LASTING * 3) as one, connect(url, ttl=LASTING * 3) as other:
        one.lock("a").acquire()
        with ticking() as tired:
            with pytest.raises(AcquireTimeout):
                other.lock("a").acquire(timeout=PATIENCE)
            assert not tired.is_set()
