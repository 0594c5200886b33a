"""Statements for a Python up to 3.12.3, to which a numbered parameter is a named one."""

import re
import sqlite3
from pathlib import Path
from typing import Any

import pytest

import fencepost
from fencepost.engines.sqlite import sql

pytestmark = pytest.mark.unit


class Strict(sqlite3.Connection):
    """As in those, where warnings are errors."""

    def execute(self, statement: str, *arguments: Any) -> sqlite3.Cursor:
        if re.search(r"\?[0-9]", statement):
            raise DeprecationWarning(f"a named parameter, but you supplied a sequence: {statement}")
        return super().execute(statement, *arguments)


def test_no_number_of_a_parameter_reaches_a_python_that_takes_it_for_a_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *words, **more: plain(*words, factory=Strict, **more))
    monkeypatch.setattr(sql, "NUMBERS_ARE_NAMES", True)
    url = f"sqlite://{tmp_path}/locks.db"
    with fencepost.connect(url, ttl=60) as first, fencepost.connect(url, ttl=60) as second:
        tokens = []
        for _ in range(2):
            with first.lock("a") as grant:
                tokens.append(grant.token)
                assert second.lock("a").try_acquire() is None
                assert [each.claim.token for each in second.look("a").holders] == [grant.token]
        assert tokens[0] < tokens[1]
        with first.rwlock("b").read(), second.rwlock("b").read(), first.semaphore("c", limit=2, weight=2):
            assert second.semaphore("c", limit=2).try_acquire() is None
            assert first.names() == ["b", "c"]
        with pytest.raises(fencepost.Lost), first.lock_all(["d", "e"]):
            assert len(second.evict("e")) == 1
        first.rate_limit("f", 1, per=60).try_acquire()


def test_parameters_in_a_row_are_those_that_the_numbers_meant() -> None:
    connection = sqlite3.connect(":memory:")
    execute = sql.without_numbers(connection.execute)
    assert execute("SELECT ?2, ?1, ?2, ?10", tuple("abcdefghij")).fetchall() == [("b", "a", "b", "j")]
    assert execute("SELECT ?, ?", ("a", "b")).fetchall() == [("a", "b")]
    assert execute("SELECT 1").fetchall() == [(1,)]
    connection.close()
