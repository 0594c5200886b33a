"""Clocks that jump and nodes that forget: what splits Redlock, and what the token and the fence save.

The scene is always the same. A has the votes of the first three of five nodes, and the other two are free. Then the
third lets A's vote go before its time, and B, who comes only now, gets a majority: the last three.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from redlock import Redlock

import fencepost
from fencepost import Stale
from fencepost.fences import MemoryFence
from fencepost.testing.condition import until
from fencepost.testing.faketime import WallClock
from fencepost.testing.redis import command, port_of, redis_server
from fencepost.testing.server import ServerProcess

from .conftest import StartNodes, url_of

HOUR = 3600
# In ms.
MINUTES = 600_000
DURABLE = ("--appendonly", "yes", "--appendfsync", "always")


Clocked = tuple[ServerProcess, WallClock]


@pytest.fixture
def start_clocked() -> Iterator[Callable[[], Clocked]]:
    """Start a server with a clock of its own."""
    with ExitStack() as stack:

        def start() -> Clocked:
            clock = WallClock()
            return stack.enter_context(redis_server(env=clock.env)), clock

        yield start


def occupy(nodes: list[ServerProcess], name: str) -> None:
    """Somebody else is there first."""
    for node in nodes:
        assert command(port_of(node), "SET", name, "somebody", "NX") == b"OK"


def leave(nodes: list[ServerProcess], name: str) -> None:
    for node in nodes:
        command(port_of(node), "DEL", name)


def until_expired(node: ServerProcess, name: str) -> None:
    """A server looks at its clock now and then: until it has seen that time has passed."""
    until(lambda: command(port_of(node), "GET", name) is None)


def test_plain_redlock_is_held_by_two_after_a_clock_jump(
    nodes: list[ServerProcess], start_clocked: Callable[[], Clocked]
) -> None:
    jumping, clock = start_clocked()
    nodes = [*nodes[:2], jumping, *nodes[3:]]
    addresses = [{"host": "127.0.0.1", "port": port_of(node)} for node in nodes]
    a, b = Redlock(addresses), Redlock(addresses, retry_count=1)
    occupy(nodes[3:], "x")
    first = a.lock("x", MINUTES)
    assert first
    leave(nodes[3:], "x")
    assert not b.lock("x", MINUTES)
    clock.set_by(HOUR)
    until_expired(jumping, "x")
    second = b.lock("x", MINUTES)
    # Both have been told that they hold it for minutes, and neither has anything to show to the resource.
    assert first.validity > MINUTES / 2
    assert second.validity > MINUTES / 2
    for manager in (a, b):
        for server in manager.servers:
            server.close()


def test_after_a_clock_jump_two_believe_to_hold_and_the_fence_lets_one_write(
    nodes: list[ServerProcess], start_clocked: Callable[[], Clocked]
) -> None:
    jumping, clock = start_clocked()
    nodes = [*nodes[:2], jumping, *nodes[3:]]
    with fencepost.connect(url_of(nodes), ttl=60) as a:
        occupy(nodes[3:], "x")
        old = a.lock("x").acquire(timeout=0)
        leave(nodes[3:], "x")
        assert a.lock("x").try_acquire() is None
        clock.set_by(HOUR)
        until_expired(jumping, "x")
        with fencepost.connect(url_of(nodes), ttl=60) as b:
            new = b.lock("x").acquire(timeout=60)
            assert old.held
            assert new.held
            only_the_newer_writes(old, new)


def test_a_token_is_written_back_to_a_majority_before_it_is_granted(
    nodes: list[ServerProcess], start_clocked: Callable[[], Clocked]
) -> None:
    """Only the first node's clock is ahead. When it is gone, the others must know of the token that it proposed."""
    ahead, clock = start_clocked()
    clock.set_by(HOUR)
    nodes = [ahead, *nodes[1:]]
    with fencepost.connect(url_of(nodes), ttl=60) as a:
        occupy(nodes[3:], "x")
        old = a.lock("x").acquire(timeout=0)
        leave(nodes[3:], "x")
        old.release()
        ahead.kill()
        with fencepost.connect(url_of(nodes), ttl=60) as b:
            assert b.lock("x").acquire(timeout=60).token > old.token


def test_a_clock_that_jumps_back_does_not_turn_tokens_back(start_clocked: Callable[[], Clocked]) -> None:
    pairs = [start_clocked() for _ in range(3)]
    with fencepost.connect(url_of([node for node, _ in pairs]), ttl=60) as session:
        old = session.lock("x").acquire()
        old.release()
        for _, clock in pairs:
            clock.set_by(-HOUR)
        assert session.lock("x").acquire(timeout=60).token > old.token


def test_a_node_that_forgets_makes_two_holders_and_the_fence_lets_one_write(nodes: list[ServerProcess]) -> None:
    with fencepost.connect(url_of(nodes), ttl=60) as a:
        occupy(nodes[3:], "x")
        old = a.lock("x").acquire(timeout=0)
        leave(nodes[3:], "x")
        nodes[2].kill()
        nodes[2].start()
        with fencepost.connect(url_of(nodes), ttl=60) as b:
            new = b.lock("x").acquire(timeout=60)
            assert old.held
            assert new.held
            only_the_newer_writes(old, new)


def test_nodes_that_forget_and_whose_clocks_are_behind_turn_tokens_back(
    nodes: list[ServerProcess], start_clocked: Callable[[], Clocked]
) -> None:
    """What docs/engines/redlock.md says that it does not survive: it must be as bad as it says."""
    late = [start_clocked() for _ in range(3)]
    for _, clock in late:
        clock.set_by(-HOUR)
    nodes = [*nodes[:2], *(node for node, _ in late)]
    with fencepost.connect(url_of(nodes), ttl=60) as a:
        occupy(nodes[3:], "x")
        old = a.lock("x").acquire(timeout=0)
        leave(nodes[3:], "x")
        nodes[2].kill()
        nodes[2].start()
        with fencepost.connect(url_of(nodes), ttl=60) as b:
            assert b.lock("x").acquire(timeout=60).token < old.token


def test_a_node_that_logs_every_write_does_not_forget_when_it_is_killed(
    nodes: list[ServerProcess], start_nodes: StartNodes
) -> None:
    nodes = [*nodes[:2], *start_nodes(1, *DURABLE), *nodes[3:]]
    with fencepost.connect(url_of(nodes), ttl=60) as a:
        occupy(nodes[3:], "x")
        held = a.lock("x").acquire(timeout=0)
        leave(nodes[3:], "x")
        nodes[2].kill()
        nodes[2].start()
        with fencepost.connect(url_of(nodes), ttl=60) as b:
            assert b.lock("x").try_acquire() is None
            assert held.held
            held.release()
            assert b.lock("x").acquire(timeout=60).token > held.token


def test_tokens_grow_when_all_nodes_forget_at_once(nodes: list[ServerProcess]) -> None:
    with fencepost.connect(url_of(nodes), ttl=60) as session:
        tokens = []
        for _ in range(5):
            with session.lock("x", timeout=60) as grant:
                tokens.append(grant.token)
            for node in nodes:
                command(port_of(node), "FLUSHALL")
        assert tokens == sorted(set(tokens))


def test_tokens_grow_when_all_nodes_forget_before_another_session_comes(nodes: list[ServerProcess]) -> None:
    tokens = []
    for _ in range(10):
        with fencepost.connect(url_of(nodes), ttl=60) as session:
            tokens.append(session.lock("x").acquire(timeout=60).token)
        for node in nodes:
            command(port_of(node), "FLUSHALL")
    assert tokens == sorted(set(tokens))


def only_the_newer_writes(old: fencepost.Grant, new: fencepost.Grant) -> None:
    assert new.token > old.token
    fence = MemoryFence()
    fence.claim("x", old)
    with fence.guard("x", new):
        pass
    with pytest.raises(Stale), fence.guard("x", old):
        raise AssertionError("the older holder wrote")
