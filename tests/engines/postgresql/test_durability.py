"""What must be safe before anybody is told of it, and what need not be."""

import threading

from fencepost._runtime.threads import BootClock
from fencepost.contract.answer import Granted, Queued
from fencepost.core.claim import Ask, Request
from fencepost.core.holder import Holder
from fencepost.core.url import parse_url
from fencepost.engines.postgresql._sync.engine import PostgresqlEngine
from fencepost.testing.condition import until
from fencepost.testing.postgresql import port_of, query
from fencepost.testing.server import ServerProcess

from .conftest import at

WAITING = "SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
WRITE = "SELECT pg_logical_emit_message(true, 'a', 'b')"


def wait_for_a_standby(port: int, name: str) -> None:
    """No commit is answered from now on before a standby of that name has it; none at all if it has no name."""
    query(port, f"ALTER SYSTEM SET synchronous_standby_names = '{name}'")
    query(port, "SELECT pg_reload_conf()")
    until(lambda: query(port, "SHOW synchronous_standby_names") == [(name,)])
    if name:
        # Nobody waits before yet another process of the server has read that.
        until(lambda: a_write_waits(port))


def a_write_waits(port: int) -> bool:
    writing = threading.Thread(target=query, args=[port, WRITE], daemon=True)
    writing.start()
    until(lambda: not writing.is_alive() or query(port, WAITING))
    return writing.is_alive()


def test_a_grant_waits_until_it_is_safe_and_a_place_in_the_queue_does_not(server: ServerProcess) -> None:
    port = port_of(server)
    engine = PostgresqlEngine(parse_url(at(port)), clock=BootClock(), patience=60.0)
    first, second = Holder("first", "first"), Holder("second", "second")
    for holder in (first, second):
        engine.lease_open(holder, 300)
    assert isinstance(engine.claim(Request(first, 1, (Ask("held"),)), wait=True), Granted)
    # From here on it listens, and asks for a place at once.
    assert isinstance(engine.claim(Request(second, 1, (Ask("held"),)), wait=True), Queued)
    answers: list[object] = []
    claiming = threading.Thread(
        target=lambda: answers.append(engine.claim(Request(second, 3, (Ask("free"),)), wait=True))
    )
    wait_for_a_standby(port, "nobody")
    before = len(query(port, WAITING))
    try:
        assert isinstance(engine.claim(Request(second, 2, (Ask("held"),)), wait=True), Queued)
        claiming.start()
        until(lambda: len(query(port, WAITING)) > before)
        assert answers == []
    finally:
        wait_for_a_standby(port, "")
    claiming.join(60)
    assert isinstance(answers[0], Granted)
    engine.close()
