"""The gate: one process at a time, and the counter that every token and ticket comes from.

Every transaction runs inside an exclusive `flock` on this file, so SQLite never sees two connections at
work: it need not poll when busy, and the defect of its write-ahead log that needs a racing writer (before
3.51.3) can not occur.

The counter outlives the state file. It is a word in this file's memory map, so a killed process loses
nothing. For the loss of the host's memory there is the *ceiling*, on disk before any token above the last
one is minted, and about an hour ahead: after a reboot counting goes on from there.

The gate is the file at the path. One that was deleted, moved or replaced while it was open is left for the one that
is there now, and a copy of a gate is a new gate. Somebody may be stopped inside the old one meanwhile: every grant in
the state file names the gate it was minted by, so that the file itself refuses that of an old one.
"""

import errno
import fcntl
import mmap
import os
import secrets
import sys
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from fencepost._runtime.state import StateLock
from fencepost.core.token import next_token
from fencepost.engines.sqlite.inheritance import let_go_after_fork
from fencepost.engines.sqlite.location import check_owner, make_folder
from fencepost.errors import Refused

T = TypeVar("T")
SIZE = 40960
MAGIC = int.from_bytes(b"fencepst")
AHEAD_US = 3_600_000_000
# NUMBER is another for every gate that is made; grants name it.
KIND, BOOT, LAST, CEILING, DEVICE, INODE, NUMBER, RELAYS = range(8)
# Not 0 once somebody has waited with a priority below 0: from then on any newcomer may have one behind it.
LOW = 10
# The inode of the file that the gate was made in: a copy has another.
MADE_IN = 11
# Two records of the ceiling, (number, digest) each, written in turn: one of them is always whole.
RECORDS = (8, 16)
# One byte for the names of one hash, set while somebody may wait for one of them.
LINES = range(2048, 4096)
_FIRST_LINE, _MOST_LINES = LINES.start, len(LINES)
# The queues that `relay` keeps; the word RELAYS says which of them are in use, one bit for each.
TRACKS = range(8192, SIZE)
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
# What a gate that is not open remembers.
_NO_NOTES = bytearray(64)
_NOTHING = memoryview(_NO_NOTES).cast("Q")
_SHUT = fcntl.LOCK_EX | fcntl.LOCK_NB
_OPEN = fcntl.LOCK_UN
_flock = fcntl.flock
_fstat = os.fstat
# Two changes of a file within this time may leave the same stamp.
TICK_NS = 50_000_000
# Nobody has so many gates in a row made anew.
_TRIES = range(100)


def wall_us() -> int:
    return time.time_ns() // 1000


def boot_id() -> str:
    """This boot of the host; the same in all of its containers."""
    return BOOT_ID.read_text().strip()


def _digest(number: int) -> int:
    return zlib.crc32(b"ceiling %d" % number) | 1 << 32


def hash_of(name: str) -> int:
    """What notes about the name are found by."""
    return zlib.crc32(name.encode())


class Occupied(Exception):
    """Somebody is inside the gate, or it is no longer the one at the path: come again."""


class Gate:
    """`fresh` is true after an entry that found no memory of the counter, or a gate that no state file belongs to."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.fresh = False
        self.rebooted = False
        self._boot = int(boot_id().replace("-", "")[:16], 16)
        self._fd = -1
        # Inode and device of the open file.
        self._identity = (0, 0)
        # When the file, seen at its path, had last changed. To move, link or delete it is a change: without one nobody
        # looks again. To move its folder is none, but then whoever is inside finds no state file, and does look.
        self._seen = -1
        # A lock on the file does not keep out our own threads.
        self._inside = StateLock()
        # The file's memory map, as words and as bytes. Only inside the gate.
        self.words = _NOTHING
        self.notes: mmap.mmap | bytearray = _NO_NOTES
        self._last = 0
        let_go_after_fork(self)

    def alone(self, work: Callable[..., T], *args: Any) -> T:
        """What `work` returns, done while nobody else on this host is inside; `Occupied` if somebody is.

        A signal handler may raise anywhere in here. So the gate is opened by calls into C alone, where no handler
        runs before they are done, and from a `try` that begins before it is shut.
        """
        with self._inside:
            try:
                self._shut()
                return work(*args)
            finally:
                if self._fd >= 0:
                    _flock(self._fd, _OPEN)

    def check(self) -> None:
        """`Occupied` if the gate is no longer the one at the path: somebody else may be behind another by now.

        What is done after this may still come too late. So a grant is written where the state file itself refuses
        one of an old gate, or in a transaction that began before this, and that whoever makes a gate waits for. A relay
        ends with its gate: there this comes last, and a grant made before it is older than all of the next gate.
        What stays: a gate that is moved away and back again while somebody is stopped inside.
        """
        if not self._is_at_path():
            self._seen = -1
            raise Occupied

    def _is_at_path(self) -> bool:
        try:
            status = os.lstat(self.path)
        except (FileNotFoundError, NotADirectoryError):
            return False
        return (status.st_ino, status.st_dev) == self._identity

    def _shut(self) -> None:
        for _ in _TRIES:
            if self._fd < 0:
                self._open()
            try:
                _flock(self._fd, _SHUT)
            except BlockingIOError:
                raise Occupied from None
            status = _fstat(self._fd)
            if status.st_ctime_ns == self._seen and status.st_size == SIZE:
                return
            if self._is_at_path():
                if status.st_size != SIZE or self.words is _NOTHING:
                    self._prepare()
                if status.st_ctime_ns < time.time_ns() - TICK_NS:
                    self._seen = status.st_ctime_ns
                return
            # Deleted, moved or replaced under us: whoever comes now locks the file at the path, and so must we.
            self._forget()
        raise OSError(errno.ESTALE, "is another file each time it is opened", self.path)

    def _open(self) -> None:
        make_folder(os.path.dirname(self.path))
        self._fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        check_owner(self.path)
        status = os.fstat(self._fd)
        self._identity = (status.st_ino, status.st_dev)

    def mint(self) -> int:
        """The next number, above all that were ever minted. Only inside the gate."""
        words = self.words
        # As `next_token` says, without the call.
        number: int = max(words[LAST] + 1, wall_us())
        if number > words[CEILING]:
            self._reserve(words, number + AHEAD_US)
        words[LAST] = number
        return number

    def at_least(self, number: int) -> None:
        """Never mint `number` or less again."""
        words = self.words
        if number > words[CEILING]:
            self._reserve(words, number + AHEAD_US)
        words[LAST] = max(words[LAST], number)

    def has_line(self, hashed: int) -> bool:
        """Whether somebody may wait for a name of this hash. A wrong guess costs time only."""
        return self.notes[_FIRST_LINE + hashed % _MOST_LINES] != 0

    def note_line(self, hashed: int, *, there: bool) -> None:
        self.notes[_FIRST_LINE + hashed % _MOST_LINES] = there

    @property
    def ceiling(self) -> int:
        return int(self.words[CEILING])

    @property
    def number(self) -> int:
        return int(self.words[NUMBER])

    @property
    def state_file(self) -> tuple[int, int]:
        """Device and inode of the state file that belongs to this gate; zeros if none is known."""
        return self.words[DEVICE], self.words[INODE]

    @state_file.setter
    def state_file(self, identity: tuple[int, int]) -> None:
        self.words[DEVICE], self.words[INODE] = identity

    def close(self) -> None:
        with self._inside:
            self._forget()

    def abandon(self) -> None:
        self._inside = StateLock()
        self._forget()

    def _forget(self) -> None:
        if self.words is not _NOTHING:
            # Not through the map: if somebody has truncated the file, that kills.
            self._last = max(self._last, int.from_bytes(os.pread(self._fd, 8, 8 * LAST), sys.byteorder))
        self._seen = -1
        fd, self._fd, self.words, self.notes = self._fd, -1, _NOTHING, _NO_NOTES
        if fd >= 0:
            os.close(fd)

    def _prepare(self) -> None:
        kind = os.pread(self._fd, 8, 8 * KIND)
        if any(kind) and kind != MAGIC.to_bytes(8, sys.byteorder):
            raise Refused(f"'{self.path}' is a file of something else: choose another path for lock state")
        # Real blocks, never a hole: writing through the map to a full disk would kill the process.
        os.posix_fallocate(self._fd, 0, SIZE)
        os.ftruncate(self._fd, SIZE)
        notes = mmap.mmap(self._fd, SIZE)
        words = memoryview(notes).cast("Q")
        self._fill(notes, words)
        # Only now: whoever is interrupted on the way here does all of it again.
        self.notes, self.words = notes, words

    def _fill(self, notes: mmap.mmap, words: "memoryview[int]") -> None:
        inode = self._identity[0]
        known = words[KIND] == MAGIC and words[MADE_IN] == inode
        durable = max(words[at] if words[at + 1] == _digest(words[at]) else 0 for at in RECORDS)
        self.rebooted = words[KIND] == MAGIC and words[BOOT] != self._boot
        if known and not self.rebooted:
            # Whoever made it may have died before it read what the state file knows.
            self.fresh = not words[INODE]
            if self._last > words[CEILING]:
                self._reserve(words, self._last + AHEAD_US)
            words[LAST] = max(words[LAST], self._last)
            return
        self.fresh = not known
        last = max(durable, self._last)
        words[DEVICE] = words[INODE] = words[CEILING] = 0
        words[RELAYS], words[NUMBER] = 0, secrets.randbits(62) + 1
        notes[LINES.start : SIZE] = bytes(SIZE - LINES.start)
        words[LAST] = last
        self._reserve(words, next_token(last, wall_us()) + AHEAD_US)
        words[MADE_IN], words[BOOT] = inode, self._boot
        words[KIND] = MAGIC
        os.fsync(self._fd)
        folder = os.open(os.path.dirname(self.path), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def _reserve(self, words: "memoryview[int]", ceiling: int) -> None:
        at = min(RECORDS, key=words.__getitem__)
        words[at], words[at + 1] = ceiling, _digest(ceiling)
        os.fsync(self._fd)
        words[CEILING] = ceiling
