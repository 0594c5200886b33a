"""A process that forks workers for the tests.

A fork of a process that has imported everything is there in milliseconds; a new interpreter takes a good part of a
second, and many times that on a busy machine. A worker is the child of this process, not of the tests. It stays a
zombie until the tests ask for it to be collected, as a child of their own would.
"""

import atexit
import ctypes
import importlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import traceback
from typing import Any

from fencepost.contract import registry
from fencepost.core.url import parse_url

PR_SET_PDEATHSIG = 1
LONGEST = 65536


class Worker:
    """One forked process: what it reads, what it writes, and its end."""

    def __init__(self, server: "ForkServer", pid: int, stdin: int, stdout: int) -> None:
        self._server = server
        self._pid = pid
        self._code: int | None = None
        self._ending = threading.Lock()
        self.stdin = open(stdin, "w")  # noqa: SIM115
        self.stdout = open(stdout)  # noqa: SIM115

    def send_signal(self, number: int) -> None:
        if self._code is None:
            os.kill(self._pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def wait(self) -> int:
        """Until it has ended; its exit code, or the negative number of the signal that ended it."""
        with self._ending:
            if self._code is None:
                self._code = self._server.collect(self._pid)
            return self._code

    def close(self) -> None:
        self.stdin.close()
        self.stdout.close()


class ForkServer:
    """The tests' end. `fork` starts `start(*arguments)` of the module `program` in a process of its own."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._line, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", __name__, str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
            )

    def fork(self, program: str, url: str, *arguments: Any) -> Worker:
        read, stdin = os.pipe()
        stdout, write = os.pipe()
        try:
            answer = self._ask({"program": program, "url": url, "arguments": arguments}, [read, write])
        finally:
            os.close(read)
            os.close(write)
        return Worker(self, answer["pid"], stdin, stdout)

    def collect(self, pid: int) -> int:
        return int(self._ask({"collect": pid})["code"])

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def close(self) -> None:
        self._line.close()
        self._process.wait()

    def _ask(self, question: dict[str, Any], fds: list[int] | None = None) -> dict[str, Any]:
        with self._lock:
            socket.send_fds(self._line, [json.dumps(question).encode()], fds or [])
            answer = self._line.recv(LONGEST)
        if not answer:
            raise AssertionError(f"the fork server ended with exit code {self._process.wait()}")
        return dict(json.loads(answer))


_shared: list[ForkServer] = []
_sharing = threading.Lock()


def shared_forkserver() -> ForkServer:
    """Started once for each process that runs tests, and ended with it."""
    with _sharing:
        if not _shared or not _shared[-1].alive:
            _shared.append(ForkServer())
            atexit.register(_shared[-1].close)
        return _shared[-1]


def serve(line: socket.socket) -> None:
    """Do what the tests ask until they close their end."""
    while True:
        question, fds, _, _ = socket.recv_fds(line, LONGEST, 2)
        if not question:
            return
        asked = json.loads(question)
        if "collect" in asked:
            _, status = os.waitpid(asked["collect"], 0)
            line.send(json.dumps({"code": os.waitstatus_to_exitcode(status)}).encode())
            continue
        module = importlib.import_module(asked["program"])
        # Once here, so that no worker has to.
        registry.engine(parse_url(asked["url"]).scheme)
        registry.async_engine(parse_url(asked["url"]).scheme)
        pid = os.fork()
        if pid == 0:
            line.close()
            _become(module, fds, [asked["url"], *asked["arguments"]])
        for fd in fds:
            os.close(fd)
        line.send(json.dumps({"pid": pid}).encode())


def _become(module: Any, fds: list[int], arguments: list[Any]) -> None:
    """The worker: it reads and writes what the tests gave, and never comes back."""
    code = 1
    try:
        if sys.platform == "linux":
            # Also a stopped one ends with the tests.
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        for number, fd in enumerate(fds):
            os.dup2(fd, number)
            os.close(fd)
        module.start(*arguments)
        sys.stdout.flush()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


if __name__ == "__main__":
    try:
        serve(socket.socket(fileno=int(sys.argv[1])))
    except KeyboardInterrupt:
        pass
