"""A fence that the database itself keeps: a trigger refuses every write whose transaction has shown no current token.

For PostgreSQL. Code that forgets the fence is refused too, in any language. A superuser, the owner of the table and
logical replication can get past a trigger, and reads are not checked by one: claim before you read.
"""

from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from fencepost.core.name import check_name
from fencepost.fences.sql._sync.fence import SqlFence
from fencepost.fences.sql.dialect import MOST_BYTES

_SQL = files(__package__).joinpath("postgresql")
ENFORCE = _SQL.joinpath("enforce.sql").read_text()
ENFORCED = _SQL.joinpath("enforced.sql").read_text()
EVENTS = "INSERT OR UPDATE OR DELETE"


@dataclass(frozen=True, slots=True)
class Enforcement:
    """A table whose writes need a token: for `name`, or with a `key` for `name/<value of that column>`."""

    table: str
    name: str
    key: str | None
    enabled: bool


def install(connection: Any, table: str, *, name: str | None = None, key: str | None = None) -> Enforcement:
    """From now on a write to `table` needs a token for `name` (the table's own name, if none is given).

    With `key`, a column, each row has a lock of its own: writing the row whose key is 42 needs one for `name/42`.
    Installing again replaces what was asked for before.
    """
    from psycopg.sql import SQL, Identifier, Literal

    fenced = check_name(name or table.rpartition(".")[2].strip('"'))
    with connection.transaction():
        ((target, schema),) = connection.execute(
            "SELECT to_regclass(%s)::text, quote_ident(current_schema())", [table]
        ).fetchall()
        if target is None:
            raise LookupError(f"there is no table '{table}' in this database")
        _check_column(connection, table, key)
        SqlFence(connection).install()
        connection.execute(ENFORCE.format(schema=schema, most_bytes=MOST_BYTES))
        _drop(connection, target)
        values = {"table": SQL(target), "schema": SQL(schema), "name": Literal(fenced), "key": Literal(key or "")}
        each, check = ("ROW", "row") if key else ("STATEMENT", "table")
        create = SQL("CREATE TRIGGER {trigger} BEFORE {events} ON {table} FOR EACH {each} EXECUTE FUNCTION {call}")
        for trigger, events, level, function in (
            ("fencepost_fence", EVENTS, each, f"fencepost_check_{check}"),
            ("fencepost_fence_truncate", "TRUNCATE", "STATEMENT", "fencepost_check_table"),
        ):
            call = SQL("{schema}.{function}({name}, {key})").format(function=Identifier(function), **values)
            more = {"trigger": Identifier(trigger), "events": SQL(events)}
            connection.execute(create.format(each=SQL(level), call=call, **more, **values))
    return Enforcement(target, fenced, key, True)


def remove(connection: Any, table: str) -> bool:
    """Whether there was a trigger to take away. The marks stay: a token outlives the fence it was shown to."""
    with connection.transaction():
        ((target,),) = connection.execute("SELECT to_regclass(%s)::text", [table]).fetchall()
        if target is None:
            raise LookupError(f"there is no table '{table}' in this database")
        found = any(each.table == target for each in status(connection))
        _drop(connection, target)
    return found


def status(connection: Any) -> list[Enforcement]:
    """The tables of this database whose writes need a token."""
    with connection.transaction():
        rows = connection.execute(ENFORCED).fetchall()
    found = []
    for table, arguments, enabled in rows:
        name, key, _ = arguments.split("\\000")
        found.append(Enforcement(table, name, key or None, enabled))
    return found


def _drop(connection: Any, target: str) -> None:
    from psycopg.sql import SQL

    for trigger in ("fencepost_fence", "fencepost_fence_truncate"):
        connection.execute(SQL(f"DROP TRIGGER IF EXISTS {trigger} ON {target}"))


def _check_column(connection: Any, table: str, key: str | None) -> None:
    if key is not None:
        sql = "SELECT 1 FROM pg_attribute WHERE attrelid = to_regclass(%s) AND attname = %s AND NOT attisdropped"
        if not connection.execute(sql, [table, key]).fetchall():
            raise LookupError(f"table '{table}' has no column '{key}'")
