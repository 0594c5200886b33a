"""Starting the command, and waiting for what it does without guessing how long it takes."""

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

FENCEPOST = (sys.executable, "-m", "fencepost")
STAGE = (sys.executable, str(Path(__file__).with_name("stage.py")))
PATIENCE = 30.0


class Program:
    def __init__(self, url: str, home: Path) -> None:
        self.url = url
        others = ("FENCEPOST", "COLUMNS", "LINES")
        kept = {key: value for key, value in os.environ.items() if not key.startswith(others)}
        self.environment = {**kept, "FENCEPOST_URL": url, "XDG_STATE_HOME": str(home), "PYTHONWARNINGS": "error"}
        self._started: list[subprocess.Popen[str]] = []

    def __call__(self, *args: str, **more: Any) -> subprocess.CompletedProcess[str]:
        """Run to the end."""
        started = self.start(*args, stdin=subprocess.DEVNULL, **more)
        out, err = started.communicate(timeout=PATIENCE)
        return subprocess.CompletedProcess(args, started.returncode, out, err)

    def start(self, *args: str, command: tuple[str, ...] = FENCEPOST, **more: Any) -> subprocess.Popen[str]:
        pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.PIPE}
        started = subprocess.Popen((*command, *args), text=True, **{"env": self.environment, **pipes, **more})
        self._started.append(started)
        return started

    def stage(self, *args: str, **scene: object) -> subprocess.Popen[str]:
        """Start the command on a stage that is set for it: `stage` says how."""
        setting = {f"STAGE_{key.upper()}": str(value) for key, value in scene.items()}
        return self.start(*args, command=STAGE, env={**self.environment, **setting})

    def end(self) -> None:
        for each in self._started:
            if each.poll() is None:
                each.kill()
            each.wait()
            for pipe in (each.stdin, each.stdout, each.stderr):
                if pipe is not None:
                    pipe.close()


def says(process: subprocess.Popen[str]) -> str:
    """The next line that the process prints."""
    assert process.stdout is not None
    return process.stdout.readline().rstrip("\n")


def complains(process: subprocess.Popen[str]) -> str:
    """The next line on its standard error."""
    assert process.stderr is not None
    return process.stderr.readline().rstrip("\n")


def ends(process: subprocess.Popen[str]) -> int:
    return process.wait(PATIENCE)


def eventually(happens: Callable[[], object]) -> None:
    """For what nobody tells us of."""
    until = time.monotonic() + PATIENCE
    while not happens():
        assert time.monotonic() < until, "it did not happen"
        time.sleep(0.005)


def children(pid: int) -> list[int]:
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return [int(each) for each in file.read().split()]


class Death:
    """Of a process that is not our child."""

    def __init__(self, pid: int) -> None:
        self._fd = os.pidfd_open(pid)

    def comes(self, timeout: float = PATIENCE) -> bool:
        poll = select.poll()
        poll.register(self._fd, select.POLLIN)
        try:
            return bool(poll.poll(timeout * 1000))
        finally:
            os.close(self._fd)


# A command with a child of its own in its group. Both refuse SIGTERM, and it says both their pids.
STUBBORN = """
trap '' TERM
sleep 600 &
echo $$ $!
wait
wait
"""
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)
