"""A lock that several hold together: what it costs a server that there are many."""

import pytest

from fencepost._runtime.threads import BootClock
from fencepost.contract.answer import Granted, Queued
from fencepost.core.claim import Ask, Claim, Mode, Request
from fencepost.core.holder import Holder
from fencepost.core.url import parse_url
from fencepost.engines.redis._sync.engine import RedisEngine
from fencepost.testing.redis import command

MANY = 200
LASTING = 300.0
SHARED = [Ask("a", Mode.SHARED), Ask("a", Mode.COUNTED, 1, 10 * MANY)]


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
