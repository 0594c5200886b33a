"""a. One update of a SQLite database in WAL mode, alone and behind a fence."""

import random
import sqlite3
from contextlib import closing
from pathlib import Path

from benchmarks.fences.race import Write, race, section
from benchmarks.machine import pinned
from benchmarks.report import Section
from fencepost.fences import SqliteFence
from fencepost.fences.sql import RowFence

SCHEMA = "CREATE TABLE orders (id INTEGER PRIMARY KEY, total INTEGER, fencing_token INTEGER NOT NULL DEFAULT 0)"
UPDATE = "UPDATE orders SET total = ? WHERE id = 42"


def run(folder: Path, dice: random.Random, *, quick: bool) -> Section:
    with (
        pinned() as cpu,
        closing(_open(folder / "normal.db", "NORMAL")) as normal,
        closing(_open(folder / "full.db", "FULL")) as full,
    ):
        times = race(_writes(normal, "") | _writes(full, ", FULL"), dice, quick=quick)
    return section(
        "a. SQLite, one update",
        f"one process on CPU {cpu}, WAL; FULL: synchronous=FULL, each commit waits for the disk; else NORMAL",
        times,
        "no fence",
        {
            "guard, token shown before ÷ no fence, p50": ("guard, same token", "no fence", 3.0),
            "a mark on the row itself ÷ no fence, p50": ("row fence", "no fence", 1.6),
            "FULL: guard, new token ÷ no fence, p50": ("guard, new token, FULL", "no fence, FULL", 1.5),
        },
    )


def _open(path: Path, synchronous: str) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute(f"PRAGMA synchronous = {synchronous}")
    connection.execute(SCHEMA)
    connection.execute("INSERT INTO orders (id, total) VALUES (42, 0)")
    return connection


def _writes(connection: sqlite3.Connection, mode: str) -> dict[str, Write]:
    fence, row, execute = SqliteFence(connection), RowFence(connection, "orders"), connection.execute

    def bare(number: int) -> None:
        execute("BEGIN IMMEDIATE")
        execute(UPDATE, (number,))
        execute("COMMIT")

    def same_token(number: int) -> None:
        with fence.guard("same", 7) as db:
            db.execute(UPDATE, (number,))

    def new_token(number: int) -> None:
        with fence.guard("new", number) as db:
            db.execute(UPDATE, (number,))

    return {
        f"no fence{mode}": bare,
        f"guard, same token{mode}": same_token,
        f"guard, new token{mode}": new_token,
        f"row fence{mode}": lambda number: row.write(42, number, total=number),
        f"claim, same token{mode}": lambda number: fence.claim("same", 7),
    }
