"""A host can be looked up whatever interrupted the first look-up, and nobody waits for it longer than he has time."""

import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from fencepost._runtime import lookup, wire
from fencepost._runtime.lookup import look_up, numeric, resolve
from fencepost.testing.condition import until

HOST = "stuck.example"


class Resolver:
    """Says nothing of the host before it is told to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked = self.answered = 0
        self.open = threading.Event()
        self._real = socket.getaddrinfo
        monkeypatch.setattr(socket, "getaddrinfo", self.look_up)

    def look_up(self, host: str, port: int, *args: Any, **options: Any) -> Any:
        if host == HOST and not options.get("flags"):
            self.asked += 1
            self.open.wait(20.0)
            self.answered += 1
            host = "127.0.0.1"
        return self._real(host, port, *args, **options)


@pytest.fixture
def resolver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Resolver]:
    resolver = Resolver(monkeypatch)
    yield resolver
    resolver.open.set()
    until(lambda: resolver.answered == resolver.asked)


def test_nobody_waits_for_a_name_longer_than_for_a_connection(resolver: Resolver) -> None:
    with pytest.raises(TimeoutError):
        wire.dial(HOST, 1, 0.01, None)
    assert not resolver.answered


def test_all_who_look_a_name_up_meanwhile_do_so_once(resolver: Resolver) -> None:
    lookups = [look_up(HOST, 1) for _ in range(3)]
    until(lambda: resolver.asked)
    resolver.open.set()
    assert resolve(HOST, 1, 60.0)[0][4] == ("127.0.0.1", 1)
    assert len(set(lookups)) == 1


def test_a_name_that_nobody_knows_is_an_error_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(host: str, port: int, *args: Any, **options: Any) -> Any:
        raise socket.gaierror(socket.EAI_NONAME, "nobody knows it")

    monkeypatch.setattr(socket, "getaddrinfo", fail)
    for _ in range(2):
        with pytest.raises(socket.gaierror, match="nobody knows it"):
            resolve(HOST, 1, 60.0)


def test_what_a_look_up_imports_is_there_before_anybody_can_be_interrupted_in_it() -> None:
    code = "import sys, fencepost; fencepost.connect; print('encodings.idna' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "True"


def test_a_child_that_is_forked_during_a_look_up_keeps_nobody_from_its_end(resolver: Resolver) -> None:
    with look_up(HOST, 1).bell() as bell:
        until(lambda: resolver.asked)
        child = os.fork()
        if not child:
            signal.pause()
            os._exit(0)
        try:
            resolver.open.set()
            assert select.select([bell], [], [], 20.0)[0]
        finally:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)


def test_where_no_thread_is_to_be_had_a_name_is_not_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(lookup, "start", fail)
    with pytest.raises(OSError, match="no thread is to be had"):
        resolve(HOST, 1, 60.0)


@pytest.mark.parametrize("host", ["a..b", "x" * 300, "\u0301" * 80])
def test_a_name_that_can_not_even_be_asked_for_is_not_found(host: str) -> None:
    with pytest.raises(socket.gaierror, match="no host has such a name"):
        numeric(host, 1)
