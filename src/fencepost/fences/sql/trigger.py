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
TREE = _SQL.joinpath("tree.sql").read_text()
WRITES = "INSERT OR UPDATE OR DELETE"
CREATE = """CREATE TRIGGER {trigger} {when} {events} ON {table} FOR EACH {each}
EXECUTE FUNCTION {schema}.{function}({name}, {key})"""
COLUMN = """SELECT attgenerated = 'v' FROM pg_attribute
WHERE attrelid = to_regclass(%s) AND attname = %s AND NOT attisdropped"""


@dataclass(frozen=True, slots=True)
class Enforcement:
    """A table whose writes need a token: for `name`, or with a `key` for `name/<value of that column>`.

    `unguarded` are those tables, of this one and the partitions and children below it, that can be written without:
    a trigger is disabled, or they came after it was installed. Installing again mends it. `enabled` if there are none.
    """

    table: str
    name: str
    key: str | None
    enabled: bool
    unguarded: tuple[str, ...] = ()


def install(connection: Any, table: str, *, name: str | None = None, key: str | None = None) -> Enforcement:
    """From now on a write to `table` needs a token for `name` (the table's own name, if none is given).

    With `key`, a column, each row has a lock of its own: writing the row whose key is 42 needs one for `name/42`.
    Partitions and children of the table need the same; new partitions too, except for TRUNCATE; new children are to be
    installed again. Installing again replaces what was asked for before.
    """
    from psycopg.sql import SQL

    fenced = check_name(name or table.rpartition(".")[2].strip('"'))
    with connection.transaction():
        ((target, schema),) = _rows(connection, "SELECT to_regclass(%s)::text, quote_ident(current_schema())", [table])
        if target is None:
            raise LookupError(f"there is no table '{table}' in this database")
        _check_column(connection, table, key)
        SqlFence(connection).install()
        connection.execute(ENFORCE.format(schema=schema, most_bytes=MOST_BYTES))
        # Nobody adds a partition meanwhile.
        connection.execute(SQL(f"LOCK TABLE {target} IN SHARE ROW EXCLUSIVE MODE"))
        tree = _rows(connection, TREE, {"table": table})
        _drop(connection, tree)
        for member, cloned, alone in tree:
            _create(connection, schema, member, fenced, key, cloned=cloned, alone=alone)
    return Enforcement(target, fenced, key, True)


def remove(connection: Any, table: str) -> bool:
    """Whether there was a trigger to take away. The marks stay: a token outlives the fence it was shown to."""
    with connection.transaction():
        ((target,),) = _rows(connection, "SELECT to_regclass(%s)::text", [table])
        if target is None:
            raise LookupError(f"there is no table '{table}' in this database")
        found = any(each.table == target for each in status(connection))
        _drop(connection, _rows(connection, TREE, {"table": table}))
    return found


def status(connection: Any) -> list[Enforcement]:
    """The tables of this database whose writes need a token."""
    with connection.transaction():
        rows = _rows(connection, ENFORCED)
    found = []
    for table, arguments, unguarded in rows:
        name, key, _ = bytes(arguments).decode(errors="replace").split("\0")
        found.append(Enforcement(table, name, key or None, not unguarded, tuple(unguarded)))
    return found


def _rows(connection: Any, sql: str, params: Any = None) -> list[tuple[Any, ...]]:
    """As tuples, whatever the caller's connection makes of rows."""
    from psycopg.rows import tuple_row

    with connection.cursor(row_factory=tuple_row) as cursor:
        found: list[tuple[Any, ...]] = cursor.execute(sql, params).fetchall()
        return found


def _create(connection: Any, schema: str, table: str, name: str, key: str | None, *, cloned: bool, alone: bool) -> None:
    """The triggers of one table. `cloned`: the one for writes comes from the parent, as to every partition."""
    from psycopg.sql import SQL, Identifier, Literal

    # A statement fires the triggers of the table that it names, and a row those of the table that it is in. Behind the
    # write, as the key may be computed, and other triggers may change it.
    by_row = ("AFTER", WRITES, "ROW", "fencepost_check_row" if key else "fencepost_check_table")
    by_statement = ("BEFORE", WRITES, "STATEMENT", "fencepost_check_table")
    made = {"fencepost_fence_truncate": ("BEFORE", "TRUNCATE", "STATEMENT", "fencepost_check_table")}
    if not cloned:
        made["fencepost_fence"] = by_statement if alone and key is None else by_row
    for trigger, (when, events, each, function) in made.items():
        connection.execute(
            SQL(CREATE).format(
                trigger=Identifier(trigger),
                when=SQL(when),
                events=SQL(events),
                table=SQL(table),
                each=SQL(each),
                schema=SQL(schema),
                function=Identifier(function),
                name=Literal(name),
                key=Literal(key or ""),
            )
        )


def _drop(connection: Any, tree: list[tuple[Any, ...]]) -> None:
    from psycopg.sql import SQL

    # The first table comes first: its trigger takes the clones with it, which can not be dropped by themselves.
    for member, _, _ in tree:
        for trigger in ("fencepost_fence", "fencepost_fence_truncate"):
            connection.execute(SQL(f"DROP TRIGGER IF EXISTS {trigger} ON {member}"))


def _check_column(connection: Any, table: str, key: str | None) -> None:
    if key is None:
        return
    found = _rows(connection, COLUMN, [table, key])
    if not found:
        raise LookupError(f"table '{table}' has no column '{key}'")
    if found[0][0]:
        # PostgreSQL 18: such a column is computed whenever it is read, and not for triggers.
        raise ValueError(f"column '{key}' of table '{table}' is virtual, and no trigger can see it: name a stored one")
