"""Which library a connection is of, found without importing any, and what drivers of all libraries have in common."""

from collections.abc import Mapping
from typing import Any

from fencepost.fences.sql.dialect import Dialect


class Adapter:
    dialect: Dialect
    alone = False

    def __init__(self, connection: Any) -> None:
        self.connection = connection

    @classmethod
    def fits(cls, connection: Any) -> bool:
        return True

    def check_open(self) -> None:
        """Raise if what was begun or joined is no transaction of the database."""


def adapter_of(connection: Any, kinds: Mapping[str, type[Adapter]], takes: str) -> Any:
    """The driver for a connection, of the one of `kinds` that is for its library."""
    kind = kinds.get(library(connection))
    if kind is None or not kind.fits(connection):
        raise TypeError(f"a SQL fence takes {takes}, not {type(connection).__name__}")
    return kind(connection)


def unfit(error: OverflowError | UnicodeEncodeError) -> ValueError:
    """What to say of a value that SQLite's library can not even pass on; others have errors of their own."""
    what = "a number that needs more than 64 bits" if isinstance(error, OverflowError) else "a lone surrogate"
    return ValueError(f"SQLite can not hold what is among these values: {what}")


def library(connection: object) -> str:
    """The name of the package that made the class of `connection`, or of the first base that is not the user's own."""
    known = {"sqlite3", "_sqlite3", "psycopg", "pymysql", "sqlalchemy", "django", "asyncpg", "aiosqlite"}
    for base in type(connection).__mro__:
        package = base.__module__.partition(".")[0]
        if package in known:
            return package.lstrip("_")
    return type(connection).__module__.partition(".")[0]
