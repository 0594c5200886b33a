"""The worker processes as the demo sees them: started, listened to, stopped, and gone on every way out."""

import os
import selectors
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from fencepost.demo.news import News, Step, read

PATIENCE = 60.0


@dataclass(slots=True, eq=False)
class Member:
    """One worker, and what it has said so far."""

    name: str
    process: subprocess.Popen[bytes]
    news: News | None = None
    paused: bool = False
    acknowledged: list[str] = field(default_factory=list)
    refused: int = 0
    lost: int = 0
    troubles: list[str] = field(default_factory=list)
    unread: bytes = b""

    def hear(self, chunk: bytes) -> None:
        *lines, self.unread = (self.unread + chunk).split(b"\n")
        for line in lines:
            self._note(read(line))

    def _note(self, news: News) -> None:
        self.news = news
        match news.step:
            case Step.ACKNOWLEDGED:
                self.acknowledged.append(news.detail)
            case Step.REFUSED:
                self.refused += 1
            case Step.LOST:
                self.lost += 1
            case Step.TROUBLED:
                self.troubles.append(news.detail)

    @property
    def step(self) -> Step | None:
        return None if self.news is None else self.news.step

    def is_thinking(self, token: int) -> bool:
        return self.news is not None and self.news.step is Step.THINKING and self.news.token == token

    def pause(self) -> None:
        """Stop it, and return once it stands still: whatever it did before that has been told."""
        self.process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self.process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        self.paused = True

    def resume(self) -> None:
        self.process.send_signal(signal.SIGCONT)
        self.paused = False


class Crew:
    """A context: after it no worker is left, running or stopped."""

    def __init__(self) -> None:
        self.members: dict[str, Member] = {}
        self._ears = selectors.DefaultSelector()

    def start(self, name: str, *arguments: str) -> None:
        # A process group of its own: Ctrl-C is for the demo, which then ends its workers; and should the demo be
        # killed outright, the kernel hangs up on the orphaned group, which ends even a stopped worker.
        command = [sys.executable, "-m", "fencepost.demo.worker", name, *arguments]
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, process_group=0)
        member = self.members[name] = Member(name, process)
        assert process.stdout is not None
        os.set_blocking(process.stdout.fileno(), False)
        self._ears.register(process.stdout, selectors.EVENT_READ, member)

    def listen(self, timeout: float) -> None:
        for key, _ in self._ears.select(timeout):
            chunk = os.read(key.fd, 65536)
            if chunk:
                key.data.hear(chunk)
            else:
                self._ears.unregister(key.fileobj)

    def check(self) -> None:
        for member in self.members.values():
            if member.process.poll() is not None:
                raise RuntimeError(f"{member.name} ended by itself with exit code {member.process.returncode}")

    def finish(self) -> None:
        """Let everybody finish what they do, and hear them out. Raises if one does not come to an end."""
        for member in self.members.values():
            member.process.terminate()
            member.resume()
        until = time.monotonic() + PATIENCE
        while self._ears.get_map() and time.monotonic() < until:
            self.listen(PATIENCE)
        for member in self.members.values():
            if member.process.wait(PATIENCE) != 0:
                raise RuntimeError(f"{member.name} ended with exit code {member.process.returncode}")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for member in self.members.values():
            if member.process.returncode is None:
                member.process.kill()
        for member in self.members.values():
            member.process.wait()
            assert member.process.stdout is not None
            member.process.stdout.close()
        self._ears.close()
