"""A server on a loopback port that says to everybody who calls whatever it is made to say."""

import re
import socket
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self

from fencepost._runtime import aio, threads
from fencepost.contract import registry
from fencepost.core.lease import Terms
from fencepost.core.url import parse_url
from fencepost.primitives._async.session import AsyncSession
from fencepost.primitives._sync.session import Session

# How long a call may take; and a lease, in which nothing of it shows.
PATIENCE, LASTING = 0.4, 300.0

# Called with each connection; an error of the socket ends it.
Speech = Callable[[socket.socket, threading.Event], object]


class Hostile:
    def __init__(self, speech: Speech) -> None:
        self._speech = speech
        self._over = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._calls: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept, daemon=True)]

    @property
    def calls(self) -> int:
        """How many have called."""
        return len(self._calls)

    def __enter__(self) -> Self:
        self._threads[0].start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for call in list(self._calls):
            _end(call)
        for thread in list(self._threads):
            thread.join(60.0)

    def _accept(self) -> None:
        while not self._over.is_set():
            try:
                call, _ = self._listener.accept()
            except OSError:
                return
            self._calls.append(call)
            thread = threading.Thread(target=self._serve, args=[call], daemon=True)
            self._threads.append(thread)
            thread.start()

    def _serve(self, call: socket.socket) -> None:
        try:
            self._speech(call, self._over)
        except OSError:
            pass
        finally:
            _end(call)


def _end(call: socket.socket) -> None:
    try:
        call.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
    call.close()


def answering(answer: bytes, question: "re.Pattern[bytes]" = re.compile(b".*", re.DOTALL)) -> Speech:
    """Whatever it is told, that is what it answers to each question."""

    def speak(call: socket.socket, over: threading.Event) -> None:
        while asked := call.recv(1_000_000):
            call.sendall(answer * max(1, len(question.findall(asked))))

    return speak


def dripping(start: bytes, drop: bytes = b"0", every: float = 0.05) -> Speech:
    """Told anything, it begins to answer, and goes on for ever, drop by drop."""

    def speak(call: socket.socket, over: threading.Event) -> None:
        call.recv(65_536)
        call.sendall(start)
        while not over.wait(every):
            call.sendall(drop)

    return speak


def flooding(start: bytes, wave: bytes) -> Speech:
    """Told anything, it begins to answer, and goes on for ever, as quickly as it can."""

    def speak(call: socket.socket, over: threading.Event) -> None:
        call.recv(65_536)
        call.sendall(start)
        while not over.is_set():
            call.sendall(wave)

    return speak


def hasty(url: str) -> Session:
    """A session that waits for no answer longer than this."""
    address, clock = parse_url(url), threads.BootClock()
    engine = registry.engine(address.scheme)(address, clock=clock, patience=PATIENCE)
    session = Session(engine, Terms(LASTING), label="hasty", clock=clock)
    session.limits = session.limits._replace(call=PATIENCE, answer=PATIENCE, farewell=0.1, close=PATIENCE)
    return session


def hasty_async(url: str) -> AsyncSession:
    address, clock = parse_url(url), aio.BootClock()
    engine = registry.async_engine(address.scheme)(address, clock=clock, patience=PATIENCE)
    session = AsyncSession(engine, Terms(LASTING), label="hasty", clock=clock)
    session.limits = session.limits._replace(call=PATIENCE, answer=PATIENCE, farewell=0.1, close=PATIENCE)
    return session
