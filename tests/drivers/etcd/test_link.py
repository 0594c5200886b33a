"""A member that lets us in and then is silent: who leaves it for the next."""

import socket
import threading

import pytest

from fencepost import Unavailable
from fencepost._runtime import threads
from fencepost.core.url import parse_url
from fencepost.drivers.etcd.endpoint import Endpoints
from fencepost.drivers.etcd.http2 import SETTINGS, frame
from fencepost.drivers.etcd.request import KV_RANGE
from fencepost.drivers.etcd.wire.threads import Link
from tests.support.hostile import Hostile

PATIENCE = 1.0


def polite(call: socket.socket, over: threading.Event) -> None:
    call.sendall(frame(SETTINGS, 0, 0))
    over.wait()


@pytest.mark.parametrize(("share", "left"), [(0.8, True), (0.1, False)], ids=["most of the time", "little time"])
def test_a_member_is_left_by_who_had_time_for_an_answer(share: float, left: bool) -> None:
    with Hostile(polite) as member:
        link = Link(Endpoints(parse_url(f"etcd://127.0.0.1:{member.port},127.0.0.2:{member.port}")), PATIENCE)
        clock = threads.BootClock()
        with pytest.raises(Unavailable), threads.Limit(clock, clock.now() + share * PATIENCE):
            link.call(KV_RANGE, b"")
        assert (link.endpoints.current.host == "127.0.0.2") is left
        link.close()
