"""What SQLite and the file system say when they fail, in words of what to do."""

import errno
import os
import sqlite3

from fencepost.errors import EngineError, Refused, Unavailable

DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
FORBIDDEN = frozenset({sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH})
LEAST_ROOM = 65536
NOT_ALLOWED = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
WRONG_PATH = frozenset({errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG, errno.ELOOP, errno.EINVAL})


def primary(error: sqlite3.Error) -> int:
    """The result code of SQLite without its extension; 0 where the module itself complains."""
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


def is_damage(error: sqlite3.Error) -> bool:
    return primary(error) in DAMAGED


def is_no_text(error: sqlite3.Error) -> bool:
    """Whether something in a column of text was none. The module has no code for that."""
    return not primary(error) and "decode to UTF-8" in str(error)


def _is_full(path: str) -> bool:
    """Where SQLite can not grow its files it does not always say why."""
    try:
        status = os.statvfs(os.path.dirname(path))
    except OSError:
        return False
    return status.f_bavail * status.f_frsize < LEAST_ROOM


def explain(error: Exception, path: str) -> EngineError:
    """The exception of ours that stands for one of theirs."""
    if isinstance(error, sqlite3.Error):
        code = primary(error)
        if code == sqlite3.SQLITE_FULL or (code == sqlite3.SQLITE_IOERR and _is_full(path)):
            return Unavailable(f"no room left on the disk of lock state '{path}': free some space ({error})")
        if code in FORBIDDEN:
            return Refused(f"lock state '{path}' can not be written: make it and its folder writable ({error})")
        return Unavailable(f"lock state '{path}' failed: {error}")
    if isinstance(error, OSError):
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            return Unavailable(f"no room left on the disk of lock state '{path}': free some space ({error})")
        if error.errno in NOT_ALLOWED:
            return Refused(f"lock state '{path}' can not be written: make its folder writable ({error})")
        if error.errno in WRONG_PATH:
            return Refused(f"lock state '{path}' can not be there: choose another path ({error})")
    return Unavailable(f"lock state '{path}' failed: {error}")
