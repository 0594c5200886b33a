"""The shop: orders in a database, and how one of them is paid.

python -m examples.payment.shop FOLDER BANK_URL     pay all open orders, and end
"""

import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import fencepost
from examples.payment import bank
from fencepost.fences.result import SqlResults


def open_shop(folder: Path) -> sqlite3.Connection:
    database = sqlite3.connect(folder / "shop.db", timeout=30)
    database.execute("CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY, cents INTEGER, receipt TEXT)")
    return database


def place_order(database: sqlite3.Connection, order: int, cents: int) -> None:
    with database:
        database.execute("INSERT INTO orders (id, cents) VALUES (?, ?)", (order, cents))


def pay(session: fencepost.Session, database: sqlite3.Connection, bank_url: str, order: int) -> str:
    """The receipt for an order: charged now, unless it was before. May be called by anybody, any number of times."""
    key = f"payment/{order}"

    def charge() -> str:
        ((cents,),) = database.execute("SELECT cents FROM orders WHERE id = ?", (order,)).fetchall()
        # Whoever dies between the bank's commit and ours is followed by another that asks again, with the same key.
        return bank.charge(bank_url, key, order, cents)

    receipt: str = session.once(key, store=SqlResults(database)).run(charge)
    with database:
        # A crash before this line: the next call finds the receipt, and comes here with the same one.
        database.execute("UPDATE orders SET receipt = ? WHERE id = ?", (receipt, order))
    return receipt


def work(folder: Path, bank_url: str) -> None:
    with closing(open_shop(folder)) as database, fencepost.connect(f"sqlite://{folder}/locks.db", ttl=2) as session:
        orders = [order for (order,) in database.execute("SELECT id FROM orders WHERE receipt IS NULL ORDER BY id")]
        for order in orders:
            pay(session, database, bank_url, order)


if __name__ == "__main__":
    work(Path(sys.argv[1]), sys.argv[2])
