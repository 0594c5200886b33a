"""Ports that nobody else gets."""

import random
import socket
import subprocess
import sys

import pytest

from fencepost.testing.port import free_port, is_listening


def test_no_port_is_given_twice() -> None:
    ports = [free_port() for _ in range(50)]
    assert len(set(ports)) == 50


def test_a_port_that_somebody_listens_on_is_not_given(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        number = taken.getsockname()[1]
        other = spare()
        monkeypatch.setattr(random.SystemRandom, "sample", lambda *_: [number, other])
        assert is_listening(number)
        assert free_port() == other
    assert not is_listening(number)


def test_another_process_does_not_get_our_port() -> None:
    ours = free_port()
    lines = (
        "from fencepost.testing import port",
        f"port.random.SystemRandom.sample = lambda *_: [{ours}, {spare()}]",
        "print(port.free_port())",
    )
    theirs = subprocess.run([sys.executable, "-c", "\n".join(lines)], check=True, capture_output=True, text=True)
    assert int(theirs.stdout) != ours


def spare() -> int:
    """A port that can be had, and is not reserved."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        number: int = probe.getsockname()[1]
        return number
