"""b. One update of a PostgreSQL database, alone and behind a fence."""

import random
from pathlib import Path
from typing import Any

import psycopg

from benchmarks.fences.race import Write, race, section
from benchmarks.machine import pinned
from benchmarks.report import Section
from fencepost.fences.sql import RowFence, SqlFence
from fencepost.fences.sql.trigger import install
from fencepost.testing.postgresql import postgresql_server

UPDATE = "UPDATE orders SET total = %s WHERE id = 42"
OTHER = "UPDATE other SET total = %s WHERE id = 42"


def run(folder: Path, dice: random.Random, *, quick: bool) -> Section:
    with pinned() as cpu, postgresql_server() as server, psycopg.connect(server.url, autocommit=True) as connection:
        for table in ("orders", "other", "enforced"):
            connection.execute(
                f"CREATE TABLE {table} (id int PRIMARY KEY, total int, fencing_token bigint NOT NULL DEFAULT 0)"
            )
            connection.execute(f"INSERT INTO {table} VALUES (42, 0)")
        install(connection, "enforced")
        times = race(_writes(connection), dice, quick=quick)
    return section(
        "b. PostgreSQL, one update through psycopg",
        f"client and server on CPU {cpu}, fsync off: what software costs, and no disk hides it",
        times,
        "no fence",
        {
            "fence.execute ÷ two bare updates in one round trip, p50": ("execute", "two updates, one trip", 1.6),
            "a mark on the row itself ÷ no fence, p50": ("row fence", "no fence", 1.6),
            "guard ÷ a bare transaction, p50": ("guard", "no fence, BEGIN … COMMIT", 3.0),
        },
    )


def _writes(connection: Any) -> dict[str, Write]:
    fence, row = SqlFence(connection), RowFence(connection, "orders")

    def transaction(number: int) -> None:
        with connection.transaction():
            connection.execute(UPDATE, [number])

    def two(number: int) -> None:
        with connection.pipeline():
            connection.execute(OTHER, [number])
            connection.execute(UPDATE, [number])

    def guard(number: int) -> None:
        with fence.guard("guard", number) as db:
            db.execute(UPDATE, [number])

    return {
        "no fence": lambda number: connection.execute(UPDATE, [number]),
        "two updates, one trip": two,
        "execute": lambda number: fence.execute("execute", number, UPDATE, [number]),
        "row fence": lambda number: row.write(42, number, total=number),
        "execute, enforced by a trigger": lambda number: fence.execute(
            "enforced", number, "UPDATE enforced SET total = %s WHERE id = 42", [number]
        ),
        "no fence, BEGIN … COMMIT": transaction,
        "guard": guard,
    }
