"""Signals that come again and again, whose handlers do nothing of note, put off no time-out."""

import socket

import pytest

from fencepost._runtime.threads import Inbox
from fencepost._runtime.wire import Wire
from tests.support.ticking import ticking

pytestmark = pytest.mark.unit
PATIENCE = 0.5


def test_a_read_from_a_silent_server_ends_in_time_however_many_signals_come() -> None:
    here, there = socket.socketpair()
    wire = Wire(here, PATIENCE)
    with there, ticking() as tired:
        with pytest.raises(TimeoutError):
            wire.receive(1)
        assert not tired.is_set()
        there.send(b"later")
        assert wire.receive(100) == b"later"
    wire.close()


def test_a_wait_for_a_letter_ends_in_time_however_many_signals_come() -> None:
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    with here, there, ticking() as tired:
        inbox = Inbox(here, 100)
        assert inbox.receive(PATIENCE) is None
        assert not tired.is_set()
        there.send(b"a letter")
        assert inbox.receive(PATIENCE) == b"a letter"


def test_a_write_to_a_server_that_reads_nothing_ends_in_time_however_many_signals_come() -> None:
    here, there = socket.socketpair()
    wire = Wire(here, PATIENCE)
    with there, ticking() as tired:
        wire.begin(PATIENCE)
        with pytest.raises(TimeoutError):
            wire.send(bytes(8 << 20))
        assert not tired.is_set()
    wire.close()
