"""What differs between databases: their statements, and how a refusal and a missing table look."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any

MOST_BYTES = 512
# What MySQL and MariaDB say to whoever may not look at the transactions of a server, or has no such table.
DENIED = frozenset({1044, 1109, 1142, 1227})
_STALE = re.compile(r"fencepost: stale, the mark is (\d+)")


@dataclass(frozen=True, slots=True)
class Dialect:
    """One kind of database. `raises`: a stale claim is an error of the database, which ends what was sent with it."""

    name: str
    begin: str
    quote: str
    raises: bool
    # What makes the database check everything that it would check at the commit.
    settle: tuple[str, ...]
    # What makes the marks' place, statement by statement, and the question in which schema, where there are such.
    schema: tuple[str, ...]
    where: str | None
    no_table: frozenset[object]
    no_savepoint: frozenset[object]
    already_there: frozenset[object]
    taken: frozenset[object]
    overtaken: frozenset[object]

    def statement(self, what: str) -> str:
        return _statement(self.name, what)

    def is_no_table(self, error: BaseException) -> bool:
        return any(code in self.no_table for code in _codes(error)) and "fencepost_" in str(error)

    def is_no_savepoint(self, error: BaseException) -> bool:
        return any(code in self.no_savepoint for code in _codes(error)) or "no such savepoint" in str(error)

    def is_taken(self, error: BaseException) -> bool:
        """A row with this key is there already."""
        return any(code in self.taken for code in _codes(error)) or "UNIQUE constraint failed" in str(error)

    def is_overtaken(self, error: BaseException) -> bool:
        """Nothing was done, as somebody else was quicker: a serialization failure or a deadlock. Try again."""
        return any(code in self.overtaken for code in _codes(error))

    def is_denied(self, error: BaseException) -> bool:
        """This user may not see it."""
        return any(code in DENIED for code in _codes(error))

    def is_already_there(self, error: BaseException) -> bool:
        """Somebody else made the same table at the same time."""
        return any(code in self.already_there for code in _codes(error))


SQLITE = Dialect(
    name="sqlite",
    begin="BEGIN IMMEDIATE",
    quote='"',
    raises=False,
    settle=(),
    schema=("schema",),
    where=None,
    no_table=frozenset({"no such table"}),
    no_savepoint=frozenset(),
    already_there=frozenset(),
    taken=frozenset(),
    overtaken=frozenset(),
)
POSTGRESQL = Dialect(
    name="postgresql",
    begin="BEGIN",
    quote='"',
    raises=True,
    settle=("SET CONSTRAINTS ALL IMMEDIATE",),
    schema=("alone", "schema", "function"),
    where="SELECT quote_ident(current_schema())",
    no_table=frozenset({"42P01", "42883"}),
    no_savepoint=frozenset({"3B001", "25P01"}),
    already_there=frozenset({"23505", "42P07", "42710"}),
    taken=frozenset({"23505"}),
    overtaken=frozenset({"40001", "40P01"}),
)
MYSQL = Dialect(
    name="mysql",
    begin="BEGIN",
    quote="`",
    raises=False,
    settle=(),
    schema=("schema",),
    where=None,
    no_table=frozenset({1146}),
    no_savepoint=frozenset({1305}),
    already_there=frozenset({1050}),
    taken=frozenset({1062}),
    overtaken=frozenset({1213, 1020}),
)
DIALECTS = {"sqlite": SQLITE, "postgresql": POSTGRESQL, "mysql": MYSQL, "mariadb": MYSQL}


def dialect_named(name: str) -> Dialect:
    if name not in DIALECTS:
        raise TypeError(f"a SQL fence knows sqlite, postgresql and mysql, not '{name}'")
    return DIALECTS[name]


def row_key(name: str) -> str:
    """What a name is called in the table: the name itself, or for long ones, which no index takes, a digest."""
    encoded = name.encode()
    return name if len(encoded) <= MOST_BYTES else f"sha256:{sha256(encoded).hexdigest()}"


def mark_in(error: BaseException) -> int | None:
    """The mark that a refusal of the database tells of; None if the error is about something else."""
    found = _STALE.search(str(error))
    return int(found[1]) if found else None


def literal(sql: str, name: str, token: int) -> str:
    """A claim for PostgreSQL with its values inside, to be sent with others in one message; safe for any name."""
    text = f"convert_from(decode('{name.encode().hex()}', 'hex'), 'UTF8')"
    return sql.replace(":name", text).replace(":token", str(int(token)))


@cache
def _statement(dialect: str, what: str) -> str:
    text = files(__package__).joinpath(dialect, f"{what}.sql").read_text()
    return "\n".join(line for line in text.splitlines() if not line.startswith("--"))


def _codes(error: BaseException) -> Iterator[object]:
    """Every code that the error, and those it wraps, carry."""
    seen: BaseException | None = error
    while seen is not None:
        yield getattr(seen, "sqlstate", None) or getattr(seen, "pgcode", None)
        yield seen.args[0] if seen.args and isinstance(seen.args[0], int) else None
        if "no such table" in str(seen):
            yield "no such table"
        seen = _wrapped(seen)


def _wrapped(error: BaseException) -> BaseException | None:
    wrapped: Any = getattr(error, "orig", None) or error.__cause__
    return wrapped if isinstance(wrapped, BaseException) else None
