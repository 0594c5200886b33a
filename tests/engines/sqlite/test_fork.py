"""A forked child must let go of what it inherited, and leave the parent's alone."""

import os
from collections.abc import Callable
from pathlib import Path

from fencepost.contract.answer import Granted
from tests.engines.sqlite.conftest import MakeUser


def _in_child(work: Callable[[], object]) -> int:
    pid = os.fork()
    if pid == 0:
        try:
            work()
            os._exit(0)
        except BaseException:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def test_closing_in_a_child_takes_nothing_from_the_parent(user: MakeUser, path: Path) -> None:
    one, two = user(), user()
    claim = one.hold("it")
    queued = two.queue("it")
    files = sorted(os.listdir(path.parent)), os.listdir(path.with_name("locks.db-mail"))
    assert _in_child(two.engine.close) == 0
    assert _in_child(one.engine.close) == 0
    assert (sorted(os.listdir(path.parent)), os.listdir(path.with_name("locks.db-mail"))) == files
    one.engine.release(claim)
    assert isinstance(two.engine.wait(queued, 5.0), Granted)


def test_the_connection_of_the_parent_is_not_closed_in_a_child(user: MakeUser) -> None:
    one = user()
    connection = one.engine._store._connection
    assert connection is not None

    def close_and_look() -> None:
        one.engine.close()
        # Raises if it was closed.
        assert connection.total_changes > 0

    assert _in_child(close_and_look) == 0
    assert one.token("it") > 0


def test_a_gate_shut_at_the_fork_does_not_stay_shut_while_the_child_lives(user: MakeUser) -> None:
    one, two = user(), user()
    # Inside of it.
    one.engine._store.gate._shut()
    ready, done = os.pipe(), os.pipe()
    pid = os.fork()
    if pid == 0:
        os.write(ready[1], b"x")
        os.read(done[0], 1)
        os._exit(0)
    os.read(ready[0], 1)
    # What the end of the parent would do: its copy of the descriptor is closed without being unlocked.
    one.engine._store.gate.abandon()
    try:
        assert two.engine.names("") == []
    finally:
        os.write(done[1], b"x")
        os.waitpid(pid, 0)
        for fd in (*ready, *done):
            os.close(fd)


def test_a_gate_that_was_truncated_and_deleted_kills_nobody(user: MakeUser, path: Path) -> None:
    def carry_on() -> None:
        one = user()
        before = one.token("it")
        gate = path.with_name("locks.db-gate")
        os.truncate(gate, 0)
        gate.unlink()
        assert one.token("another") > before

    assert _in_child(carry_on) == 0
