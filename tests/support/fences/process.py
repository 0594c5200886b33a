"""Other processes, started fresh and never left behind."""

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import Any

SPAWN = multiprocessing.get_context("spawn")


@contextmanager
def started(target: Callable[..., None], *arguments: Any) -> Iterator[tuple[SpawnProcess, Connection]]:
    """A process with a pipe to it; gone when the block ends, whatever state it is in."""
    ours, theirs = SPAWN.Pipe()
    process = SPAWN.Process(target=target, args=(*arguments, theirs))
    process.start()
    theirs.close()
    try:
        yield process, ours
    finally:
        process.kill()
        process.join()
        process.close()
        ours.close()


def stop(process: SpawnProcess) -> None:
    """Stop it, and return when it has stopped."""
    assert process.pid is not None
    os.kill(process.pid, signal.SIGSTOP)
    os.waitid(os.P_PID, process.pid, os.WSTOPPED)


def resume(process: SpawnProcess) -> None:
    assert process.pid is not None
    os.kill(process.pid, signal.SIGCONT)
