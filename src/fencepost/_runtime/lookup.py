"""Where a host is. Nobody can say how long a look-up may take, so it is done in a thread that nobody waits for."""

import socket
import threading
from errno import EAGAIN
from math import ceil
from typing import Any, TypeAlias

from fencepost._runtime import fork
from fencepost._runtime.readiness import READ, poll
from fencepost._runtime.state import StateLock
from fencepost._runtime.threads import start

# Family, kind, protocol, canonical name, and the address itself, as the socket module has them.
Found: TypeAlias = list[tuple[Any, Any, int, str, Any]]


def numeric(host: str, port: int) -> Found:
    """Its address, if the host is one already: nobody has to be asked. Else nothing."""
    try:
        return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    except socket.gaierror:
        return []
    except UnicodeError:
        # It can not even be asked for: a part of it is empty, or too long. To those who connect that is all the same.
        raise socket.gaierror(socket.EAI_NONAME, "no host has such a name") from None


class Lookup:
    """One for all who want to know the same meanwhile: there are no more threads than hosts."""

    def __init__(self, host: str, port: int) -> None:
        self._found: Found = []
        self._error: Exception | None = None
        self._over, self._end = socket.socketpair()
        try:
            start(threading.Thread(target=self._run, args=[host, port], name="fencepost-lookup", daemon=True))
        except RuntimeError as error:
            self._end.close()
            raise OSError(EAGAIN, f"no thread is to be had to look '{host}' up") from error

    def _run(self, host: str, port: int) -> None:
        try:
            self._found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, ValueError) as error:
            self._error = error
        finally:
            with _lock:
                _running.pop((host, port), None)
            # Closing it says nothing while the child of a fork has it, too.
            self._end.shutdown(socket.SHUT_RDWR)
            self._end.close()

    def bell(self) -> socket.socket:
        """Readable when it is over. To be closed by the caller."""
        return self._over.dup()

    def found(self) -> Found:
        if self._error is not None:
            raise type(self._error)(*self._error.args)
        return list(self._found)

    def __del__(self) -> None:
        if hasattr(self, "_over"):
            self._over.close()


def look_up(host: str, port: int) -> Lookup:
    with _lock:
        lookup = _running.get((host, port))
        if lookup is None:
            lookup = _running[host, port] = Lookup(host, port)
        return lookup


def resolve(host: str, port: int, seconds: float) -> Found:
    """The addresses of the host; TimeoutError if nobody says them within so many seconds."""
    found = numeric(host, port)
    if not found:
        lookup = look_up(host, port)
        with lookup.bell() as bell:
            waiting = poll()
            waiting.register(bell, READ)
            if seconds <= 0 or not waiting.poll(ceil(seconds * 1000)):
                raise TimeoutError
        found = lookup.found()
    return found


_lock = StateLock()
_running: dict[tuple[str, int], Lookup] = {}


def _forked() -> None:
    # Threads do not survive a fork, and a lock held by one would stay locked.
    global _lock
    _lock = StateLock()
    _running.clear()


fork.in_child(_forked)
