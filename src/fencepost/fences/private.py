"""A SQLite file of this host that only its owner may read: names and results tell who works on what."""

import os
import sqlite3
import tempfile

from fencepost.core.shown import shown
from fencepost.drivers.sqlite import check_journals

PATIENCE = 60.0


def check_path(path: "str | os.PathLike[str]") -> str:
    """The path as text, or an error that says what to change."""
    found = os.fspath(path) if isinstance(path, str | os.PathLike) else None
    if not isinstance(found, str):
        raise TypeError(f"a path is text or an os.PathLike of text, not {type(path).__name__}")
    if not found or "\0" in found:
        raise ValueError(f"a path must not be empty or contain a NUL character, and {shown(found)} does")
    try:
        os.fsencode(found)
    except UnicodeEncodeError:
        raise ValueError(f"a path must be one that this system can write down, not {shown(found)}") from None
    return found


def open_private(path: str) -> sqlite3.Connection:
    """A connection to the database at `path`. If there is none, it is made; one that is there keeps its mode.

    `Refused` if somebody else has put something in place of its journals.
    """
    if not os.path.exists(path):
        _make(path)
    check_journals(path)
    return sqlite3.connect(path, timeout=PATIENCE)


def _make(path: str) -> None:
    """An empty file. Its journals get the mode that it has.

    Made aside: closing a descriptor of the file itself would end the locks that SQLite has on it in this process.
    """
    descriptor, spare = tempfile.mkstemp(dir=os.path.dirname(path), prefix=f"{os.path.basename(path)}.")
    os.close(descriptor)
    try:
        os.link(spare, path)
    except OSError:
        pass  # Somebody was quicker, or this file system has no links: then SQLite makes it, as others do.
    finally:
        os.unlink(spare)
