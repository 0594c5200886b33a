"""The gate: one process at a time, and the counter that every token and ticket comes from.

Every transaction runs inside an exclusive `flock` on this file, so SQLite never sees two connections at
work: it need not poll when busy, and the defect of its write-ahead log that needs a racing writer (before
3.51.3) can not occur.

The counter outlives the state file. It is a word in this file's memory map, so a killed process loses
nothing. For the loss of the host's memory there is the *ceiling*, on disk before any token above the last
one is minted, and about an hour ahead: after a reboot counting goes on from there.
"""

import fcntl
import mmap
import os
import sys
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from fencepost._runtime.state import StateLock
from fencepost.core.token import next_token
from fencepost.engines.sqlite.inheritance import let_go_after_fork
from fencepost.engines.sqlite.location import make_folder

T = TypeVar("T")
SIZE = 40960
MAGIC = int.from_bytes(b"fencepst")
AHEAD_US = 3_600_000_000
KIND, BOOT, LAST, CEILING, DEVICE, INODE, _, RELAYS = range(8)
# Not 0 once somebody has waited with a priority below 0: from then on any newcomer may have one behind it.
LOW = 10
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
    """Somebody is inside the gate."""


class Gate:
    """`fresh` is true after an entry that found no memory of the counter in the file."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.fresh = False
        self.rebooted = False
        self._boot = int(boot_id().replace("-", "")[:16], 16)
        self._fd = -1
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

    def _shut(self) -> None:
        while True:
            if self._fd < 0:
                make_folder(os.path.dirname(self.path))
                self._fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            try:
                _flock(self._fd, _SHUT)
            except BlockingIOError:
                raise Occupied from None
            status = os.fstat(self._fd)
            if status.st_nlink:
                if status.st_size != SIZE or self.words is _NOTHING:
                    self._prepare()
                return
            # Deleted under us: whoever comes now locks the new file, and so must we.
            self._forget()

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
        fd, self._fd, self.words, self.notes = self._fd, -1, _NOTHING, _NO_NOTES
        if fd >= 0:
            os.close(fd)

    def _prepare(self) -> None:
        # Real blocks, never a hole: writing through the map to a full disk would kill the process.
        os.posix_fallocate(self._fd, 0, SIZE)
        os.ftruncate(self._fd, SIZE)
        notes = mmap.mmap(self._fd, SIZE)
        words = memoryview(notes).cast("Q")
        self._fill(notes, words)
        # Only now: whoever is interrupted on the way here does all of it again.
        self.notes, self.words = notes, words

    def _fill(self, notes: mmap.mmap, words: "memoryview[int]") -> None:
        known = words[KIND] == MAGIC
        durable = max(words[at] if words[at + 1] == _digest(words[at]) else 0 for at in RECORDS)
        self.rebooted = known and words[BOOT] != self._boot
        self.fresh = not known
        if known and not self.rebooted:
            return
        last = max(durable, self._last)
        words[DEVICE] = words[INODE] = words[CEILING] = 0
        words[RELAYS] = 0
        notes[LINES.start : SIZE] = bytes(SIZE - LINES.start)
        words[LAST] = last
        self._reserve(words, next_token(last, wall_us()) + AHEAD_US)
        words[BOOT] = self._boot
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
