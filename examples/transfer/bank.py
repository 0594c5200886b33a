"""A bank in a SQLite file: accounts that are read and written under their locks, behind a fence."""

import sqlite3
from collections.abc import Mapping

from fencepost.fences import SqliteFence


class Bank:
    def __init__(self, path: str) -> None:
        self._database = sqlite3.connect(path, timeout=30)
        self._database.execute("CREATE TABLE IF NOT EXISTS account (name TEXT PRIMARY KEY, balance INTEGER)")
        self._database.commit()
        self._fence = SqliteFence(self._database)

    def open(self, name: str, balance: int) -> None:
        self._database.execute("INSERT INTO account VALUES (?, ?)", (name, balance))
        self._database.commit()

    def balance(self, name: str) -> int:
        ((balance,),) = self._database.execute("SELECT balance FROM account WHERE name = ?", (name,)).fetchall()
        return int(balance)

    def transfer(self, source: str, target: str, amount: int, tokens: Mapping[str, int]) -> None:
        """One transaction that shows the tokens of both locks: a holder that was paused too long is refused."""
        with self._fence.guard(source, tokens[source]), self._fence.guard(target, tokens[target]) as database:
            for name, change in ((source, -amount), (target, amount)):
                ((balance,),) = database.execute("SELECT balance FROM account WHERE name = ?", (name,)).fetchall()
                database.execute("UPDATE account SET balance = ? WHERE name = ?", (balance + change, name))
