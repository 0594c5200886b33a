"""How much a server has said."""

import socket

import pytest

from fencepost.engines.postgresql.wire.size import received

pytestmark = pytest.mark.unit


def test_a_connection_that_another_thread_has_closed_meanwhile_received_nothing() -> None:
    here, there = socket.socketpair()
    with there:
        fileno = here.fileno()
        here.close()
        assert received(fileno) == 0
