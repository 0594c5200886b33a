"""The guarded file, as the block of a guard sees it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def content_of(data: bytes | bytearray | memoryview) -> bytes:
    """The bytes themselves, or an error that says what to change."""
    try:
        return memoryview(data).tobytes()
    except TypeError:
        raise TypeError(f"the content of a file is bytes, not {type(data).__name__}: encode it") from None


class GuardedFile:
    """Reads and replaces the whole content of one file, inside the block of a guard and nowhere else."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._staged: bytes | None = None
        self._ended = False

    @property
    def path(self) -> Path:
        return Path(self._path)

    def read(self) -> bytes:
        """The content: what the block has written so far, else what is on disk. Raises FileNotFoundError."""
        self._require_open()
        return Path(self._path).read_bytes() if self._staged is None else self._staged

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Replace the content. It reaches the disk when the outermost block ends without raising."""
        self._require_open()
        self._staged = content_of(data)

    @contextmanager
    def _undone_if_raised(self) -> Iterator[None]:
        before = self._staged
        try:
            yield
        except BaseException:
            self._staged = before
            raise

    def _end(self) -> bytes | None:
        """No more reading and writing; what is left to be put on disk."""
        self._ended = True
        return self._staged

    def _require_open(self) -> None:
        if self._ended:
            raise ValueError(f"the guard of '{self._path}' has ended: read and write inside its block")
