"""Whether a file is lock state: what is somebody else's is never moved, deleted, or written to."""

import os
import sqlite3
import stat
from contextlib import closing
from urllib.parse import quote

from fencepost.errors import Refused

APPLICATION = 0x66656E63
# Of a database, in bytes.
HEADER = 100


def check_origin(path: str) -> None:
    """`Refused` if what is at `path` is not provably lock state. An empty file is nobody's."""
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return
    if not stat.S_ISREG(status.st_mode):
        raise Refused(f"lock state '{path}' is not a file: choose another path")
    if status.st_size:
        application = _application(path) if status.st_size >= HEADER else None
        if application != APPLICATION:
            kind = "file" if application is None else "database"
            raise Refused(
                f"'{path}' is a {kind} of something else, and was left as it is: choose another path for lock state, "
                "or move it away if nobody needs it"
            )


def _application(path: str) -> int | None:
    """The number in the header of a database file; None if it has no such header.

    Through SQLite: closing a descriptor of our own would end the locks that it has on the file in this process. As it
    is told that nobody changes the file, it neither locks it nor looks at its journals; and it is told not to mind
    that the file may be shorter than the header says.
    """
    address = f"file:{quote(os.fsencode(path))}?mode=ro&immutable=1"
    with closing(sqlite3.connect(address, uri=True)) as connection:
        try:
            connection.execute("PRAGMA writable_schema = ON")
            ((application,),) = connection.execute("PRAGMA application_id")
        except sqlite3.DatabaseError as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
                return None
            raise
    return int(application)
