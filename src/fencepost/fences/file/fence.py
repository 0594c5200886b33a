"""The fence beside the file it protects."""

import errno
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from fencepost._runtime import fork
from fencepost.core.name import check_name
from fencepost.errors import FencepostError
from fencepost.fences.file.content import GuardedFile, content_of
from fencepost.fences.file.lock import check_platform, locked
from fencepost.fences.file.mark import decode, encode
from fencepost.fences.file.replacement import replace
from fencepost.fences.private import check_path
from fencepost.fences.protocol import Tokened, check, check_process, token_of


class _Guards(threading.local):
    """The guards this thread is inside of, by process and path. A forked child is inside of none."""

    def __init__(self) -> None:
        self.open: dict[tuple[int, str], GuardedFile] = {}


_here = _Guards()


class FileFence:
    """Guards one file for the processes and threads of one host. The file need not exist yet.

    Beside `report.csv` stand `report.csv.fence` with the marks and `report.csv.fence.lock`, which is flocked
    while a block runs. They are open to those who may write the file; a new file is private (0600).

    `with fence.guard(name, grant) as file:` puts the mark on disk, then runs the block, then replaces the
    content by what the block wrote. A process killed at any instant, or a power cut, leaves the old content
    or the new, and never new content with an old mark. If the block raises, the file stays as it was and
    the claim stands. `read` and `write` are guards of one operation.

    Limits. A guard waits for the one before it however long that takes, also if its process is stopped.
    Deleting the sidecars forgets the marks, and moving the file leaves them behind. A symbolic link leads
    to the same marks, a hard link does not. Network file systems are not supported: flock and rename promise
    less there. After an OSError out of the block, read again: the content may have been replaced or not.
    A child forked inside the block can not end it: its guard is its parent's.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        check_platform()
        # Resolved once, so that a link or a change of folder does not lead to other marks.
        self._path = os.path.realpath(check_path(path))
        if os.path.isdir(self._path):
            raise IsADirectoryError(errno.EISDIR, "a file fence guards one file, not a folder", self._path)
        self._marks = self._path + ".fence"
        self._lock = self._path + ".fence.lock"
        self._spare = self._path + ".fence.new"

    def claim(self, name: str, grant: Tokened | int) -> None:
        """Show the token; the mark is on disk when this returns."""
        with self.guard(name, grant):
            pass

    @contextmanager
    def guard(self, name: str, grant: Tokened | int) -> Iterator[GuardedFile]:
        check_name(name)
        token = token_of(grant)
        with self._enter() as file:
            self._show(name, token)
            with file._undone_if_raised():
                yield file

    def read(self, name: str, grant: Tokened | int) -> bytes:
        """Claim, then read the content. Raises FileNotFoundError if there is none; the claim stands."""
        with self.guard(name, grant) as file:
            return file.read()

    def write(self, name: str, grant: Tokened | int, data: bytes | bytearray | memoryview) -> None:
        """Claim, then replace the content."""
        content = content_of(data)
        with self.guard(name, grant) as file:
            file.write(content)

    def highest(self, name: str) -> int:
        return self._read_marks().get(check_name(name), 0)

    @contextmanager
    def _enter(self) -> Iterator[GuardedFile]:
        """The guard this thread is in already, or a new one that lands what was written when it ends."""
        key = (os.getpid(), self._path)
        born = fork.current
        if (outer := _here.open.get(key)) is not None:
            yield outer
            return
        with locked(self._lock, self._path):
            file = _here.open[key] = GuardedFile(self._path)
            try:
                yield file
                check_process(born)
                if (data := file._end()) is not None:
                    replace(self._path, data, spare=self._spare, like=self._access())
            finally:
                # First: a signal handler may raise at any call, and this thread would be inside for ever, without lock.
                del _here.open[key]
                file._end()

    def _show(self, name: str, token: int) -> None:
        marks = self._read_marks()
        highest = marks.get(name, 0)
        if check(name, token, highest) != highest:
            replace(self._marks, encode(marks | {name: token}), spare=self._spare, like=os.stat(self._lock))

    def _read_marks(self) -> dict[str, int]:
        try:
            with open(self._marks, "rb") as file:
                return decode(file.read())
        except FileNotFoundError:
            return {}
        except ValueError as error:
            raise FencepostError(
                f"the marks in '{self._marks}' are damaged: nothing passes until the file is restored"
            ) from error

    def _access(self) -> os.stat_result:
        """Whom a new content is for: those of the old one, else those who may use the fence."""
        try:
            return os.stat(self._path)
        except FileNotFoundError:
            return os.stat(self._lock)
