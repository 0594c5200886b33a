"""One protected list of words, kept behind each kind of fence, so that one suite can ask the same of all."""

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from fencepost.fences import FileFence, GuardedFile, MemoryFence, SqliteFence
from fencepost.fences.host import HostFence

from .database import DATABASES
from .desk import Desk, Place


class Interrupted(Exception):
    """What a block may raise."""


@contextmanager
def interrupted(guard: AbstractContextManager[Any]) -> Iterator[Any]:
    """Enter `guard`, and let its block end by an exception that must come out of it."""
    try:
        with guard as guarded:
            yield guarded
            raise Interrupted
    except Interrupted:
        return
    raise AssertionError("the guard has swallowed an exception")


class MemoryPlace:
    def __init__(self, folder: Path) -> None:
        self._fence = MemoryFence()
        self._words: list[str] = []

    def open(self) -> Desk:
        return Desk(self._fence, lambda _: list(self._words), self._write)

    def _write(self, _: None, words: list[str]) -> None:
        self._words = words

    def look(self) -> list[str]:
        return self._words

    def close(self) -> None:
        pass


class SqlitePlace:
    def __init__(self, folder: Path) -> None:
        self.path = folder / "place.db"
        self._connections: list[sqlite3.Connection] = []
        with self.connect() as connection:
            connection.execute("CREATE TABLE IF NOT EXISTS list (words TEXT)")
            connection.execute("INSERT INTO list SELECT '[]' WHERE NOT EXISTS (SELECT * FROM list)")

    def connect(self, **options: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = sqlite3.connect(
            self.path, **{"timeout": 60, "check_same_thread": False, **options}
        )
        self._connections.append(connection)
        return connection

    def open(self) -> Desk:
        return Desk(SqliteFence(self.connect()), _select, _update)

    def look(self) -> list[str]:
        return _select(self.connect())

    def close(self) -> None:
        for connection in self._connections:
            connection.close()


def _select(connection: sqlite3.Connection) -> list[str]:
    cursor = connection.execute("SELECT words FROM list")
    cursor.row_factory = None
    words: list[str] = json.loads(cursor.fetchone()[0])
    return words


def _update(connection: sqlite3.Connection, words: list[str]) -> None:
    connection.execute("UPDATE list SET words = ?", (json.dumps(words),))


class FilePlace:
    def __init__(self, folder: Path) -> None:
        self.path = folder / "place.json"
        if not self.path.exists():
            self.path.write_text("[]")

    def open(self) -> Desk:
        return Desk(FileFence(self.path), _load, _dump)

    def look(self) -> list[str]:
        words: list[str] = json.loads(self.path.read_bytes())
        return words

    def close(self) -> None:
        pass


def _load(file: GuardedFile) -> list[str]:
    words: list[str] = json.loads(file.read())
    return words


def _dump(file: GuardedFile, words: list[str]) -> None:
    file.write(json.dumps(words).encode())


class HostPlace(FilePlace):
    """A plain file, with its marks elsewhere on the host."""

    def open(self) -> Desk:
        fence = HostFence(self.path.with_name("marks.db"))
        return Desk(fence, lambda _: self.look(), lambda _, words: self._write(words))

    def _write(self, words: list[str]) -> None:
        self.path.write_text(json.dumps(words))


PLACES: dict[str, Callable[[Path], Place]] = {
    "memory": MemoryPlace,
    "sqlite": SqlitePlace,
    "file": FilePlace,
    "host": HostPlace,
    **DATABASES,
}
UNDOES = tuple(kind for kind in PLACES if kind not in ("memory", "host"))
LETS_IN_AGAIN = tuple(kind for kind in PLACES if kind != "host")  # those that nest guards of the same name
SHARED = ("sqlite", "file", "postgresql", "mariadb")  # those that other processes can open too
