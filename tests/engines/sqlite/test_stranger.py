"""A state file in which somebody else has written: no engine goes on for ever about it, or stumbles."""

import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from fencepost.contract.answer import Gone, Granted
from fencepost.core.claim import Ask, Mode
from fencepost.errors import Refused
from tests.engines.sqlite.conftest import MakeUser

# No statement that comes upon it ends.
ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n"
TRAPS = {
    "a trigger on claims": (
        "",
        f"CREATE TRIGGER trap BEFORE INSERT ON claim BEGIN SELECT count(*) FROM ({ENDLESS}); END",
    ),
    "a view of a table": (
        "",
        f"ALTER TABLE life RENAME TO old; CREATE VIEW life AS SELECT old.* FROM old, ({ENDLESS})",
    ),
    "a trigger on cells": (
        "-cells",
        f"CREATE TRIGGER trap BEFORE INSERT ON cell BEGIN SELECT count(*) FROM ({ENDLESS}); END",
    ),
}


def change(path: Any, table: str, column: str, value: object, where: str = "1") -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute(f"UPDATE {table} SET {column} = ? WHERE {where}", (value,))
    connection.close()


@pytest.mark.parametrize("column", ["started", "namespace", "label", "mailbox"])
def test_one_whose_own_lease_cannot_be_read_has_none(user: MakeUser, path: Path, column: str) -> None:
    one, two = user(), user()
    one.hold("it")
    change(path, "holder", column, b"\xff")
    assert isinstance(two.engine.claim(two.request("it"), wait=False), Gone)
    two.renew_holder()
    assert two.token("it")


def test_a_process_with_a_number_that_none_has_is_dead(user: MakeUser, path: Path) -> None:
    one, two = user(), user()
    one.hold("it")
    change(path, "holder", "pid", 2**62, f"id = '{one.holder.id}'")
    assert two.engine.look("it").holders == ()
    two.renew_holder()
    assert two.token("it")
    assert list(two.engine.names("")) == ["it"]


@pytest.mark.parametrize(("column", "value"), [("weight", 10), ("mode", "counted"), ("most", 0)])
def test_one_whose_place_was_changed_takes_another(user: MakeUser, path: Path, column: str, value: object) -> None:
    one, two = user(), user()
    claim = one.hold(Ask("it", Mode.COUNTED, weight=1, limit=1))
    queued = two.queue(Ask("it", Mode.COUNTED, weight=1, limit=1))
    change(path, "claim", "weight", 10, "waiting = 1")
    change(path, "claim", column, value, "waiting = 1")
    one.engine.release(claim)
    assert isinstance(two.engine.claim(queued.request, wait=True), Granted)
    assert [each.claim.holder for each in two.engine.look("it").holders] == [two.holder]


@pytest.mark.parametrize(("file", "trap"), TRAPS.values(), ids=TRAPS)
def test_a_file_in_which_a_statement_would_not_end_is_refused(user: MakeUser, path: Path, file: str, trap: str) -> None:
    one = user()
    one.token("it")
    one.engine.cells.write("it", "value", 0)
    one.engine.close()
    connection = sqlite3.connect(f"{path}{file}", isolation_level=None)
    connection.executescript(trap)
    connection.close()
    with pytest.raises(Refused, match="was changed by somebody else"):
        two = user()
        two.engine.cells.write("it", "another", two.engine.cells.read("it").version)


@pytest.mark.parametrize("file", ["", "-cells"], ids=["state", "cells"])
@pytest.mark.parametrize("journal", ["-journal", "-wal", "-shm"])
@pytest.mark.parametrize("planted", ["pipe", "link"])
def test_what_stands_in_place_of_a_journal_keeps_nobody_waiting_and_is_not_followed(
    user: MakeUser, path: Path, file: str, journal: str, planted: str
) -> None:
    one = user()
    one.token("it")
    one.engine.cells.write("it", "value", 0)
    one.engine.close()
    theirs = path.with_name("theirs")
    theirs.write_text("their work")
    place = path.with_name(f"{path.name}{file}{journal}")
    place.unlink(missing_ok=True)
    if planted == "pipe":
        os.mkfifo(place)
    else:
        place.symlink_to(theirs)
    with pytest.raises(Refused, match=f"{place.name}' is not a file"):
        two = user()
        two.engine.cells.read("it")
    assert theirs.read_text() == "their work"
