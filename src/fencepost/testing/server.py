"""Servers under test: started on a free port in a folder of their own, and stopped by their own pid."""

import atexit
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from fencepost.testing.port import is_listening

TAIL = 30
MEMORY = Path("/dev/shm")
LOOK_AGAIN = 0.005
# Becomes the server: first asks the kernel to kill it when its parent dies, then checks that it has not already.
PRELUDE = """
import ctypes, os, signal, sys
PR_SET_PDEATHSIG = 1
if sys.platform == "linux":
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != int(sys.argv[1]):
        os._exit(1)
os.execvp(sys.argv[2], sys.argv[2:])
"""
Ready = Callable[["ServerProcess"], bool]


class ServerDown(RuntimeError):
    """The server did not come up, or ended; the message ends with the tail of its log."""


def quick_folder(prefix: str) -> Path:
    """In memory where that is possible: who syncs every write to the disk is late where others use it, too."""
    return Path(tempfile.mkdtemp(prefix=prefix, dir=MEMORY if os.access(MEMORY, os.W_OK) else None))


class ServerProcess:
    """One server, as a context manager: up on entry, gone on exit.

    `ready` says when it is up (see `listening`, `logged`). `{folder}` in `argv` is its folder, which is made here
    and removed at the end unless one is given. Its output goes to `log` there. The server is killed when the
    process that started it dies, by whatever cause, provided that it was started by the main thread: Linux takes
    the end of the starting *thread* for the end of the parent. Started from another thread, it is stopped at exit.
    """

    def __init__(
        self,
        argv: Sequence[str | os.PathLike[str]],
        *,
        ready: Ready,
        folder: Path | None = None,
        env: Mapping[str, str] | None = None,
        timeout: float = 60.0,
    ) -> None:
        self._own_folder = folder is None
        self.folder = folder or Path(tempfile.mkdtemp(prefix="fencepost-server-"))
        self.argv = [os.fspath(each).replace("{folder}", str(self.folder)) for each in argv]
        self.log = self.folder / "server.log"
        self._ready = ready
        self._env = env
        self._timeout = timeout
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def pid(self) -> int:
        if self._process is None:
            raise ServerDown(f"{self.argv[0]} is not running")
        return self._process.pid

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start it and return when it is ready; `ServerDown`, with the tail of its log, if it is not in time."""
        if self.running:
            raise RuntimeError(f"{self.argv[0]} runs already, as pid {self.pid}")
        argv = self.argv
        if threading.current_thread() is threading.main_thread():
            argv = [sys.executable, "-I", "-S", "-c", PRELUDE, str(os.getpid()), *argv]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                argv,
                cwd=self.folder,
                env=None if self._env is None else {**os.environ, **self._env},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                process_group=0,
            )
        _started.add(self)
        deadline = time.monotonic() + self._timeout
        while not self._ready(self):
            status = self._process.poll()
            if status is not None:
                raise ServerDown(self._explain(f"ended with status {status} before it was ready"))
            if time.monotonic() > deadline:
                self.kill()
                raise ServerDown(self._explain(f"was not ready in {self._timeout:g} s"))
            time.sleep(LOOK_AGAIN)

    def stop(self, timeout: float = 30.0) -> None:
        """Ask it to end (SIGTERM), and kill it if it has not within `timeout` seconds."""
        if self._process is not None and self.running:
            self.resume()
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(timeout)
            except subprocess.TimeoutExpired:
                self.kill()
        self._process = None

    def kill(self) -> None:
        """SIGKILL, to it and its children: as if the power had failed."""
        if self._process is not None:
            self._signal(signal.SIGKILL)
            self._process.wait()
            self._process = None

    def pause(self) -> None:
        """SIGSTOP, to it and its children. Returns when it stands still."""
        self._signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)

    def resume(self) -> None:
        self._signal(signal.SIGCONT)

    def restart(self) -> None:
        """Stop it, unless it is down already, and start it again with the same port and folder."""
        self.stop()
        self.start()

    def close(self) -> None:
        """Stop it and remove its folder."""
        self.stop()
        _started.discard(self)
        if self._own_folder:
            shutil.rmtree(self.folder, ignore_errors=True)

    def tail(self, lines: int = TAIL) -> str:
        """The last lines of its output."""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:]) if self.log.exists() else ""

    def _signal(self, number: int) -> None:
        # The group is its own, made at its start. A dead leader that nobody waited for keeps the number from reuse.
        try:
            os.killpg(self.pid, number)
        except ProcessLookupError:
            pass

    def _explain(self, what: str) -> str:
        return f"{' '.join(self.argv)} {what}; the end of its log:\n{self.tail() or '(it wrote nothing)'}"


def listening(port: int) -> Ready:
    """Ready when it accepts connections on `port`."""
    return lambda server: is_listening(port)


def logged(text: str) -> Ready:
    """Ready when `text` stands in its output."""
    return lambda server: text in server.log.read_text(errors="replace")


_started: "weakref.WeakSet[ServerProcess]" = weakref.WeakSet()


@atexit.register
def _stop_all() -> None:
    for server in list(_started):
        server.close()
