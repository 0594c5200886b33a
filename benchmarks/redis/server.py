"""The server that is measured: one of our own, on loopback, with nothing on disk."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fencepost.testing.redis import command, port_of, redis_server


@dataclass(frozen=True, slots=True)
class Server:
    port: int
    pid: int

    def info(self, section: str) -> dict[str, str]:
        text: str = command(self.port, "INFO", section).decode()
        return dict(line.split(":", 1) for line in text.split("\r\n") if ":" in line)


@contextmanager
def running(folder: Path) -> Iterator[Server]:
    with redis_server("--dir", str(folder)) as process:
        yield Server(port_of(process), process.pid)


def settle_on(server: Server, cpu: int, *, same: bool) -> None:
    """Pin the server to that CPU, or, if there is another, to one that is not that."""
    others = [each for each in range(os.cpu_count() or 1) if each != cpu]
    os.sched_setaffinity(server.pid, {cpu} if same or not others else {others[0]})


def calls_of_scripts(server: Server) -> int:
    """How many scripts clients asked it to run so far: what a script does inside is counted apart."""
    statistics: dict[str, Any] = server.info("commandstats")
    names = ("cmdstat_evalsha", "cmdstat_eval")
    return sum(int(statistics[name].split(",")[0].removeprefix("calls=")) for name in names if name in statistics)
