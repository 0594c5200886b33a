"""c. One update of a MariaDB database, alone and behind a fence."""

import random
from contextlib import closing
from pathlib import Path
from typing import Any

import pymysql

from benchmarks.fences.race import Write, race, section
from benchmarks.machine import pinned
from benchmarks.report import Section
from fencepost.fences.sql import RowFence, SqlFence
from fencepost.testing.mariadb import MariadbServer

UPDATE = "UPDATE orders SET total = %s WHERE id = 42"
OTHER = "UPDATE other SET total = %s WHERE id = 42"


def run(folder: Path, dice: random.Random, *, quick: bool) -> Section:
    with pinned() as cpu, MariadbServer() as server:
        at = {"host": "127.0.0.1", "port": server.port, "user": "root"}
        with closing(pymysql.connect(autocommit=True, **at)) as connection:
            cursor = connection.cursor()
            cursor.execute("CREATE DATABASE shop")
            cursor.execute("USE shop")
            for table in ("orders", "other"):
                cursor.execute(
                    f"CREATE TABLE {table} (id INT PRIMARY KEY, total INT, fencing_token BIGINT NOT NULL DEFAULT 0)"
                )
                cursor.execute(f"INSERT INTO {table} (id, total) VALUES (42, 0)")
            times = race(_writes(connection), dice, quick=quick)
    return section(
        "c. MariaDB, one update through PyMySQL",
        f"client and server on CPU {cpu}, the log not flushed at each commit: what software costs",
        times,
        "no fence",
        {
            "fence.execute ÷ two bare updates in one transaction, p50": (
                "execute",
                "two updates, one transaction",
                1.25,
            ),
            "a mark on the row itself ÷ no fence, p50": ("row fence", "no fence", 1.6),
        },
    )


def _writes(connection: Any) -> dict[str, Write]:
    fence, row, cursor = SqlFence(connection), RowFence(connection, "orders"), connection.cursor()
    fence.install()

    def transaction(number: int, *more: str) -> None:
        cursor.execute("BEGIN")
        for statement in (*more, UPDATE):
            cursor.execute(statement, (number,))
        cursor.execute("COMMIT")

    def guard(number: int) -> None:
        with fence.guard("guard", number):
            cursor.execute(UPDATE, (number,))

    return {
        "no fence": lambda number: cursor.execute(UPDATE, (number,)),
        "row fence": lambda number: row.write(42, number, total=number),
        "no fence, BEGIN … COMMIT": transaction,
        "two updates, one transaction": lambda number: transaction(number, OTHER),
        "execute": lambda number: fence.execute("execute", number, UPDATE, (number,)),
        "guard": guard,
    }
