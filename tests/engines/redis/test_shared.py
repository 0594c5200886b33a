"""A lock that several hold together: what it costs a server that there are many, and what happens without its key."""

from collections.abc import Callable

import pytest

import fencepost
from fencepost._runtime.threads import BootClock
from fencepost.contract.answer import Granted, Queued
from fencepost.core.claim import Ask, Claim, Mode, Request
from fencepost.core.holder import Holder
from fencepost.core.url import parse_url
from fencepost.engines.redis._sync.engine import RedisEngine
from fencepost.testing.redis import command
from tests.support.renewal import renew

MANY = 200
LASTING = 300.0
SHARED = [Ask("a", Mode.SHARED), Ask("a", Mode.COUNTED, 1, 10 * MANY)]
Acquire = Callable[[fencepost.Session], fencepost.Grant | None]


def reader(session: fencepost.Session) -> fencepost.Grant | None:
    return session.rwlock("a").read().try_acquire()


def permit(session: fencepost.Session) -> fencepost.Grant | None:
    return session.semaphore("a", limit=2).try_acquire()


def calls(port: int, name: str) -> int:
    """How often the server has run that command, in scripts as well."""
    for line in command(port, "INFO", "commandstats").decode().splitlines():
        if line.startswith(f"cmdstat_{name}:"):
            return int(line.partition("calls=")[2].partition(",")[0])
    return 0


@pytest.mark.parametrize("shared", SHARED, ids=lambda ask: ask.mode)
def test_those_who_hold_are_looked_at_once_however_many_are_let_in_together(port: int, url: str, shared: Ask) -> None:
    engine = RedisEngine(parse_url(url), clock=BootClock(), patience=LASTING)
    holder = Holder("holder", "holder")
    engine.lease_open(holder, LASTING)
    alone = engine.claim(Request(holder, 1, (Ask("a"),)), wait=False)
    assert isinstance(alone, Granted)
    for serial in range(MANY):
        assert isinstance(engine.claim(Request(holder, 2 + serial, (shared,)), wait=True), Queued)
    command(port, "CONFIG", "RESETSTAT")
    assert engine.release(Claim(holder, 1, Ask("a"), alone.tokens[0]))
    assert len(engine.look("a").holders) == MANY
    # Once to let them in, and once to look at them.
    assert calls(port, "hgetall") <= 2
    # Whether those who wait are alive is asked of each.
    assert calls(port, "exists") <= 2 * MANY
    command(port, "CONFIG", "RESETSTAT")
    assert isinstance(engine.claim(Request(holder, 2 + MANY, (shared,)), wait=True), Granted)
    assert calls(port, "exists") < 10
    engine.lease_close(holder)
    engine.close()


@pytest.mark.parametrize("acquire", [reader, permit])
def test_whoever_shares_a_lock_whose_key_was_deleted_is_told_before_another_holds_it_alone(
    port: int, url: str, acquire: Acquire
) -> None:
    with fencepost.connect(url, ttl=LASTING) as first, fencepost.connect(url, ttl=LASTING) as second:
        held = acquire(first)
        assert held is not None
        command(port, "DEL", "a")
        assert second.lock("a").try_acquire() is None
        assert held.held
        renew(first)
        assert held.lost.is_set()
        after = second.lock("a").try_acquire()
        assert after is not None
        assert after.token > held.token


@pytest.mark.parametrize("acquire", [reader, permit])
def test_whoever_shares_a_lock_that_another_client_has_taken_is_told(port: int, url: str, acquire: Acquire) -> None:
    with fencepost.connect(url, ttl=LASTING) as session:
        held = acquire(session)
        assert held is not None
        command(port, "SET", "a", "another client's")
        renew(session)
        assert held.lost.is_set()


def test_whoever_waits_to_share_a_lock_whose_key_was_deleted_is_granted_nothing_by_a_renewal(
    port: int, url: str
) -> None:
    """Its grant was told, and not heard: the renewal would have kept it."""
    engine = RedisEngine(parse_url(url), clock=BootClock(), patience=LASTING)
    holder = Holder("holder", "holder")
    engine.lease_open(holder, LASTING)
    alone = engine.claim(Request(holder, 1, (Ask("a"),)), wait=False)
    assert isinstance(alone, Granted)
    request = Request(holder, 2, (Ask("a", Mode.SHARED),))
    assert isinstance(engine.claim(request, wait=True), Queued)
    assert engine.release(Claim(holder, 1, Ask("a"), alone.tokens[0]))
    command(port, "DEL", "a")
    assert engine.lease_renew(holder, LASTING, ()).alive
    assert engine.look("a").holders == ()
    assert isinstance(engine.claim(request, wait=False), Granted)
    engine.lease_close(holder)
    engine.close()


def test_a_writer_whose_key_somebody_has_made_to_last_goes_on_as_a_reader(port: int, url: str) -> None:
    """Without a time left that could be set anew, as in the last millisecond of a lease."""
    with fencepost.connect(url, ttl=LASTING) as session:
        lock = session.rwlock("a")
        held = lock.write().acquire()
        assert command(port, "PERSIST", "a") == 1
        lock.downgrade(held)
        renew(session)
        assert held.held
        assert command(port, "PTTL", "a") > 0
