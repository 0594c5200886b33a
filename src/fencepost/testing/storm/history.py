"""What happened in a storm, as values, and as lines of JSON in files: one file for each process.

Each participant has a path: `crew/process` is a process, `crew/process/flow` one of its threads or tasks. What concerns
a path concerns all below it; the empty path is everybody. Every instant is of CLOCK_BOOTTIME, which all processes of a
host share.
"""

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

SUFFIX = ".jsonl"


@dataclass(frozen=True, slots=True)
class Event:
    at: float
    who: str


@dataclass(frozen=True, slots=True)
class Joined(Event):
    """A process is there. Nothing of its sessions outlives it at the engine by more than `lasting` seconds."""

    lasting: float


@dataclass(frozen=True, slots=True)
class Asked(Event):
    """A flow is about to ask. It asks for one thing at a time: what follows, up to `Ended`, is about this ask."""

    names: tuple[str, ...]
    mode: str = "exclusive"
    limit: int = 1


@dataclass(frozen=True, slots=True)
class Got(Event):
    """It was granted, with a token for each name. `at` was noted before the grant was seen to be held."""

    tokens: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Held(Event):
    """The grant was still held: `at` was noted before that was seen."""


@dataclass(frozen=True, slots=True)
class Ended(Event):
    """The ask is over, and nothing of it is held: released, not granted in time, interrupted, or an error's name."""

    how: str


@dataclass(frozen=True, slots=True)
class Trouble(Event):
    """The library said that something of a session is lost, or not confirmed yet."""

    what: str


@dataclass(frozen=True, slots=True)
class Broke(Event):
    """What came out of the library is no error that a storm is a reason for."""

    what: str


@dataclass(frozen=True, slots=True)
class Stalled(Event):
    """From `at` to `until`, a thread of this process that wanted to run did not."""

    until: float


@dataclass(frozen=True, slots=True)
class Deed(Event):
    """What the nemesis did to `who`, from `at` to `until`."""

    what: str
    until: float


@dataclass(frozen=True, slots=True)
class Left(Event):
    """At rest, the engine still has this claim or place in a queue of `name`."""

    name: str
    what: str


KINDS: dict[str, Callable[..., Event]] = {
    kind.__name__: kind for kind in (Joined, Asked, Got, Held, Ended, Trouble, Broke, Stalled, Deed, Left)
}


class Log:
    """The file of one process. A kill loses the line that is being written, and none before it."""

    def __init__(self, folder: Path, who: str) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        self._descriptor = os.open(folder / f"{who.replace('/', '-')}{SUFFIX}", flags, 0o600)

    def write(self, event: Event) -> None:
        # In one call, so that threads do not mix their lines.
        line = json.dumps({"kind": type(event).__name__, **asdict(event)}) + "\n"
        os.write(self._descriptor, line.encode())

    def close(self) -> None:
        os.close(self._descriptor)


def read(folder: Path) -> list[Event]:
    """Everything of all files. Events of one flow are in their order; otherwise there is none."""
    return [event for file in sorted(folder.glob(f"*{SUFFIX}")) for event in _lines(file)]


def _lines(file: Path) -> Iterator[Event]:
    for line in file.read_text().splitlines():
        try:
            values: dict[str, Any] = json.loads(line)
        except ValueError:
            # The last one of a process that was killed.
            continue
        kind = KINDS[values.pop("kind")]
        yield kind(**{key: tuple(value) if isinstance(value, list) else value for key, value in values.items()})


def concerns(whom: str, who: str) -> bool:
    """Whether what is done to `whom` is done to `who`."""
    return not whom or who == whom or who.startswith(f"{whom}/")


def process_of(who: str) -> str:
    return "/".join(who.split("/")[:2])
