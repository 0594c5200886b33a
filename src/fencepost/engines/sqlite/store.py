"""The state file: opened, made, and replaced where it can not be trusted. All of it happens inside the gate."""

import os
import sqlite3
import time
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

from fencepost.core.malformed import is_integer
from fencepost.drivers.sqlite import JOURNALS, check_journals, check_schema
from fencepost.engines.sqlite import sql
from fencepost.engines.sqlite.gate import DEVICE, INODE, LOW, Gate, boot_id
from fencepost.engines.sqlite.inheritance import never_close
from fencepost.engines.sqlite.location import check_owner
from fencepost.engines.sqlite.origin import APPLICATION, check_origin
from fencepost.engines.sqlite.relay import Tracks
from fencepost.engines.sqlite.sql import SCHEMA, STATEMENTS, without_numbers
from fencepost.engines.sqlite.trouble import is_damage, is_no_text
from fencepost.errors import FencepostWarning, Refused

T = TypeVar("T")
VERSION = 3
# Only for strangers who open the file past the gate.
BUSY = 0.1
BESIDE = ("", *JOURNALS)
_stat = os.stat


class Store:
    """One connection to one state file, and the gate before it."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.mail = path + "-mail"
        self.gate = gate = Gate(path + "-gate")
        self.tracks = Tracks(gate)
        self._identity: tuple[int, int] | None = None
        self._connection: sqlite3.Connection | None = None
        # When the leases of this engine end, as far as the file that is open knows them: counted from the send.
        self.lease_ends: dict[str, float] = {}
        self.execute: Callable[..., sqlite3.Cursor] = _not_open
        self.mint = gate.mint

    def alone(self, work: Callable[..., T], *args: Any) -> T:
        """What `work` returns, done on the open file inside the gate; `Occupied` if somebody else is there."""
        if self._connection is None and _is_missing(self.gate.path):
            # Nothing is made beside what is somebody else's.
            check_origin(self.path)
        result: T = self.gate.alone(self.run, work, *args)
        return result

    def run(self, work: Callable[..., T], *args: Any) -> T:
        """`work` on the file at the path. What a damaged one knew is gone, so the answer of a new one is definite."""
        try:
            try:
                status = _stat(self.path)
            except FileNotFoundError:
                self._open()
            else:
                if (status.st_dev, status.st_ino) != self._identity or self.gate.fresh:
                    self._open()
            return work(*args)
        except sqlite3.Error as error:
            self.roll_back()
            if self._connection is not None and self._connection.text_factory is str and is_no_text(error):
                # From here on what is no text is read as well as it can be: it is somebody else's, and concerns nobody.
                self._connection.text_factory = _lenient
                return work(*args)
            if not is_damage(error):
                raise
            check_origin(self.path)
            self._set_aside("corrupt")
            self._open()
            return work(*args)
        finally:
            # Whatever happened, also on the way here: a transaction left open would shut out everybody else.
            if (connection := self._connection) is not None and connection.in_transaction:
                connection.rollback()

    def is_paired(self) -> bool:
        """Whether the state file that we have open is the one that belongs to the gate.

        The one at the path may be another, or gone: whoever finds that pairs the gate with a new one.
        """
        words = self.gate.words
        return (words[DEVICE], words[INODE]) == self._identity

    @property
    def is_open(self) -> bool:
        return self._connection is not None

    @property
    def is_blank(self) -> bool:
        """Whether nobody has ever locked anything here: whoever only looks makes no file."""
        return not self.is_open and _is_missing(self.path) and _is_missing(self.gate.path)

    def roll_back(self) -> None:
        connection = self._connection
        if connection is not None and connection.in_transaction:
            try:
                connection.rollback()
            except sqlite3.Error:
                self.close()

    def close(self) -> None:
        connection, self._connection, self._identity = self._connection, None, None
        self.execute = _not_open
        if connection is not None:
            connection.close()

    def abandon(self) -> None:
        """In a forked child: the connection is the parent's, and must not be closed, not even when collected."""
        if self._connection is not None:
            never_close(self._connection)
        self._connection, self._identity, self.execute = None, None, _not_open

    def _open(self) -> None:
        self.close()
        gate = self.gate
        # Whoever is behind another gate by now may have made the file at the path.
        gate.check()
        self._check_owners()
        check_origin(self.path)
        if gate.rebooted:
            # Leases died with the boot, and what was not yet on disk then may be torn.
            self._discard()
            gate.rebooted = False
        status = self._status()
        if status is not None and gate.state_file not in ((0, 0), (status.st_dev, status.st_ino)):
            self._set_aside("replaced")
            status = None
        if status is None:
            # Whose lease is gone holds nothing. Before there is a file again, so that whoever comes then knows.
            self.tracks.end_all()
            self._discard()
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        try:
            self._connect()
        except sqlite3.Error as error:
            self.close()
            if not is_damage(error):
                raise
            self._set_aside("corrupt")
            self._open()
        except BaseException:
            # Refused: nobody comes back for this connection, and one that is collected open is a warning from 3.13 on.
            self.close()
            raise

    def _connect(self) -> None:
        gate = self.gate
        check_journals(self.path)
        connection = sqlite3.connect(
            self.path, timeout=BUSY, isolation_level=None, check_same_thread=False, cached_statements=64
        )
        self._connection, execute = connection, connection.execute
        execute("PRAGMA page_size = 1024")
        execute("PRAGMA synchronous = OFF")
        ((application,),) = execute("PRAGMA application_id")
        ((version,),) = execute("PRAGMA user_version")
        # Once more: what was not there before, somebody else may have put there meanwhile.
        self._check_owners()
        made = application in (0, APPLICATION) and not execute("SELECT 1 FROM sqlite_schema").fetchall()
        if made:
            self._make(connection)
        elif application != APPLICATION:
            raise Refused(f"'{self.path}' is a database of something else: choose another path for lock state")
        elif version != VERSION:
            raise Refused(f"lock state '{self.path}' has format {version}, and this release knows {VERSION}")
        else:
            check_schema(connection, self.path, SCHEMA)
        if not made and execute("SELECT boot FROM life").fetchall() != [(boot_id(),)]:
            self.close()
            self._discard()
            self._open()
            return
        execute = self.execute = without_numbers(execute) if sql.NUMBERS_ARE_NAMES else execute
        if gate.fresh and not made and gate.state_file == (0, 0) and not self._adopt():
            return
        gate.fresh = False
        self.lease_ends.clear()
        status = os.stat(self.path)
        self._identity = gate.state_file = (status.st_dev, status.st_ino)

    def _adopt(self) -> bool:
        """The gate file was deleted, and with it the counter: this file has a number above all its tokens.

        In a transaction: whoever is stopped inside the old gate is through with its grant, or finds that it is late.
        False if the file was replaced by a new one.
        """
        gate, execute = self.gate, self.execute
        execute("BEGIN IMMEDIATE")
        gate.check()
        ((highest,),) = execute(STATEMENTS["highest"])
        relays = execute(STATEMENTS["relays"]).fetchall()
        execute(STATEMENTS["adopt"], (gate.number,))
        execute("COMMIT")
        if not is_integer(highest):
            self._set_aside("corrupt")
            self._open()
            return False
        gate.at_least(highest)
        gate.words[LOW] = 1
        if relays == [(1,)]:
            # And with it who holds what.
            self._set_aside("orphaned")
            self._open()
            return False
        return True

    def _make(self, connection: sqlite3.Connection) -> None:
        # What it is known by is in the file itself, and on disk, before anything is in the write-ahead log.
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute(f"PRAGMA application_id = {APPLICATION}")
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.executescript(
            f"BEGIN; {SCHEMA} PRAGMA user_version = {VERSION};"
            f"INSERT INTO life VALUES ('{boot_id()}', {self.gate.ceiling}, 0); COMMIT;"
        )

    def _status(self) -> os.stat_result | None:
        try:
            return os.stat(self.path)
        except FileNotFoundError:
            return None

    def _check_owners(self) -> None:
        check_owner(*(self.path + ending for ending in BESIDE))

    def _discard(self) -> None:
        for ending in BESIDE:
            _try(os.unlink, self.path + ending)

    def _set_aside(self, why: str) -> None:
        self.close()
        moment = time.time_ns()
        stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime(moment / 1e9))
        aside = f"{self.path}.{why}-{stamp}.{moment // 1000 % 1_000_000:06}Z"
        for ending in BESIDE:
            _try(os.rename, self.path + ending, aside + ending)
        warnings.warn(
            f"lock state '{self.path}' was {why}: all leases are gone, and the file is now '{aside}'",
            FencepostWarning,
            stacklevel=2,
        )


def _lenient(text: bytes) -> str:
    return text.decode(errors="replace")


def _try(act: Callable[..., None], *paths: str) -> None:
    try:
        act(*paths)
    except FileNotFoundError:
        pass


def _not_open(*_: Any) -> Any:
    raise sqlite3.ProgrammingError("the state file is not open")


def _is_missing(path: str) -> bool:
    try:
        os.lstat(path)
    except FileNotFoundError:
        return True
    except OSError:
        # Whoever opens it finds out.
        return False
    return False
