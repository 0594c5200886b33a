"""A state file in which somebody else has written: no engine goes on for ever about it, or stumbles."""

import sqlite3
from typing import Any

import pytest

from fencepost.contract.answer import Gone, Granted
from fencepost.core.claim import Ask, Mode


def change(path: Any, table: str, column: str, value: object, where: str = "1") -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute(f"UPDATE {table} SET {column} = ? WHERE {where}", (value,))
    connection.close()


@pytest.mark.parametrize("column", ["started", "namespace", "label", "mailbox"])
def test_one_whose_own_lease_cannot_be_read_has_none(user, path, column):
    one, two = user(), user()
    one.hold("it")
    change(path, "holder", column, b"\xff")
    assert isinstance(two.engine.claim(two.request("it"), wait=False), Gone)
    two.renew_holder()
    assert two.token("it")


def test_a_process_with_a_number_that_none_has_is_dead(user, path):
    one, two = user(), user()
    one.hold("it")
    change(path, "holder", "pid", 2**62, f"id = '{one.holder.id}'")
    assert two.engine.look("it").holders == ()
    two.renew_holder()
    assert two.token("it")
    assert list(two.engine.names("")) == ["it"]


@pytest.mark.parametrize(("column", "value"), [("weight", 10), ("mode", "counted"), ("most", 0)])
def test_one_whose_place_was_changed_takes_another(user, path, column, value):
    one, two = user(), user()
    claim = one.hold(Ask("it", Mode.COUNTED, weight=1, limit=1))
    queued = two.queue(Ask("it", Mode.COUNTED, weight=1, limit=1))
    change(path, "claim", "weight", 10, "waiting = 1")
    change(path, "claim", column, value, "waiting = 1")
    one.engine.release(claim)
    assert isinstance(two.engine.claim(queued.request, wait=True), Granted)
    assert [each.claim.holder for each in two.engine.look("it").holders] == [two.holder]
