"""What was sent to a node and comes late, after what followed it, has no effect there."""

from collections.abc import Callable, Iterator
from typing import TypeVar

import pytest

from fencepost._runtime import aio as runtime
from fencepost._runtime.threads import BootClock
from fencepost.contract.answer import Granted, Queued
from fencepost.core.claim import Ask, Claim, Request
from fencepost.core.holder import Holder
from fencepost.core.url import parse_url
from fencepost.engines.redis.address import Address
from fencepost.engines.redis.key import SINGLE, Place
from fencepost.engines.redis.redlock._async.engine import AsyncEngine
from fencepost.engines.redis.redlock._sync.engine import Engine
from fencepost.engines.redis.redlock.ballot import Ballot, any_reply
from fencepost.engines.redis.redlock.lease import Lease
from fencepost.engines.redis.redlock.renewal import compose
from fencepost.engines.redis.redlock.script import CLAIM, LEAVE, RELEASE, RENEW, YIELD
from fencepost.engines.redis.resp import Reply, ReplyError
from fencepost.engines.redis.script import OPEN
from fencepost.engines.redis.wire.threads import connect
from fencepost.errors import Unavailable
from fencepost.testing.condition import until
from fencepost.testing.proxy import Proxy
from fencepost.testing.redis import command, port_of
from fencepost.testing.server import ServerProcess

HOLDER = Holder("0" * 24, "holder")
T = TypeVar("T")
REQUEST = Request(HOLDER, 1, (Ask("a"),))


@pytest.fixture
def ports(nodes: list[ServerProcess]) -> list[int]:
    """Of three nodes that know the scripts."""
    ports = [port_of(node) for node in nodes[:3]]
    for port in ports:
        for script in (CLAIM, RELEASE, LEAVE, RENEW):
            say(port, script.load)
    return ports


@pytest.fixture
def slow(ports: list[int]) -> Iterator[Proxy]:
    """The way to the third node."""
    with Proxy(ports[2]) as proxy:
        yield proxy


def url_of(ports: list[int]) -> str:
    return f"redlock://{','.join(f'127.0.0.1:{port}' for port in ports)}"


def direct(ports: list[int]) -> list[Address]:
    return [Address(port=port) for port in ports]


def say(port: int, words: bytes) -> Reply:
    connection = connect(Address(port=port), 60.0)
    try:
        connection.sendall(words)
        reply = connection.read()
    finally:
        connection.close()
    assert not isinstance(reply, ReplyError)
    return reply


def open_at(port: int) -> None:
    """A lease is opened as soon as a majority has it: make sure of the node that may not have heard of it yet."""
    command(port, "SET", f"fencepost\0lease\0{HOLDER.id}", "1", "PX", "120000")


def times_run(port: int) -> int:
    """How many scripts a node has run so far."""
    lines = command(port, "INFO", "commandstats").decode().split()
    return sum(int(line.split("calls=")[1].split(",")[0]) for line in lines if line.startswith("cmdstat_evalsha:"))


@pytest.mark.parametrize("how", ["release", "withdraw"])
def test_a_claim_that_a_node_hears_after_its_end_gets_no_vote(ports: list[int], slow: Proxy, how: str) -> None:
    engine = Engine(parse_url(url_of([*ports[:2], slow.port])), clock=BootClock(), patience=60.0)
    engine.lease_open(HOLDER, 120)
    open_at(ports[2])
    # It hears all nodes out, so there is a connection to each of them from here on.
    engine.lease_renew(HOLDER, 120, ())
    slow.hold()
    granted = engine.claim(REQUEST, wait=False)
    assert isinstance(granted, Granted)
    before = times_run(ports[2])
    # Another thread has these connections by now, and what follows goes another way.
    engine._fleet._free.pop()
    engine._fleet._nodes = direct(ports)
    if how == "release":
        assert engine.release(Claim(HOLDER, 1, Ask("a"), granted.tokens[0]))
    else:
        engine.withdraw(REQUEST)
    until(lambda: times_run(ports[2]) > before)
    slow.heal()
    until(lambda: times_run(ports[2]) > before + 1)
    assert [command(port, "EXISTS", "a") for port in ports] == [0, 0, 0]
    # Nobody else is harmed: the next claim is of the new epoch.
    assert isinstance(engine.claim(Request(HOLDER, 2, (Ask("a"),)), wait=False), Granted)
    engine.close()


async def test_on_an_event_loop_it_gets_none_either(ports: list[int], slow: Proxy) -> None:
    engine = AsyncEngine(parse_url(url_of([*ports[:2], slow.port])), clock=runtime.BootClock(), patience=60.0)
    await engine.lease_open(HOLDER, 120)
    open_at(ports[2])
    await engine.lease_renew(HOLDER, 120, ())
    slow.hold()
    granted = await engine.claim(REQUEST, wait=False)
    assert isinstance(granted, Granted)
    before = times_run(ports[2])
    kept = engine._fleet._connections[2]
    assert kept is not None
    engine._fleet._connections[2] = None
    engine._fleet._nodes = direct(ports)
    assert await engine.release(Claim(HOLDER, 1, Ask("a"), granted.tokens[0]))
    while times_run(ports[2]) == before:
        await runtime.sleep(0.005)
    slow.heal()
    while times_run(ports[2]) == before + 1:
        await runtime.sleep(0.005)
    assert [command(port, "EXISTS", "a") for port in ports] == [0, 0, 0]
    kept.end(ConnectionError("closed here"))
    await engine.close()


def test_a_renewal_that_a_node_hears_after_the_release_gets_no_vote(ports: list[int]) -> None:
    """It asks those nodes for their vote that had not answered the claim."""
    engine = Engine(parse_url(url_of(ports)), clock=BootClock(), patience=60.0)
    engine.lease_open(HOLDER, 120)
    granted = engine.claim(REQUEST, wait=False)
    assert isinstance(granted, Granted)
    lease = engine._leases[HOLDER.id]
    lease.entries[1].votes.pop(2, None)
    renewals, _ = compose(lease, 3, Ballot(3, 3, any_reply))
    assert engine.release(Claim(HOLDER, 1, Ask("a"), granted.tokens[0]))
    engine._fleet.close()
    until(lambda: command(ports[2], "EXISTS", "a") == 0)
    say(ports[2], renewals[2])
    assert command(ports[2], "EXISTS", "a") == 0
    engine.close()


def test_a_renewal_that_a_node_hears_after_the_end_of_the_lease_gets_no_vote(ports: list[int]) -> None:
    engine = Engine(parse_url(url_of(ports)), clock=BootClock(), patience=60.0)
    engine.lease_open(HOLDER, 120)
    assert isinstance(engine.claim(REQUEST, wait=False), Granted)
    lease = engine._leases[HOLDER.id]
    lease.entries[1].votes.pop(2, None)
    renewals, _ = compose(lease, 3, Ballot(3, 3, any_reply))
    engine.lease_close(HOLDER)
    say(ports[2], renewals[2])
    assert command(ports[2], "EXISTS", "a") == 0
    engine.close()


def test_a_vote_that_came_back_is_not_given_away_by_what_was_said_before(ports: list[int]) -> None:
    port = ports[0]
    open_at(port)
    say(port, YIELD.load)
    other = Holder("1" * 24, "other")
    command(port, "SET", f"fencepost\0lease\0{other.id}", "1", "PX", "120000")
    ours, theirs = Lease(HOLDER, 120, "channel", 1), Lease(other, 120, "channel", 1)
    ours.nodes = theirs.nodes = {0}
    place = Place(b"a", clustered=False)
    mine, its = ours.note(REQUEST, place, 0.0), theirs.note(Request(other, 1, (Ask("a"),)), place, 0.0)
    token = say(port, ours.claim(mine, wait=True)[1][0])
    say(port, theirs.claim(its, wait=True)[1][0])
    late = YIELD.pack([b"a", SINGLE.index], ours.member(mine, 0), its.own[3:], ours.epochs.now)
    ours.epochs.advance()
    assert say(port, ours.claim(mine, wait=True)[1][0]) == [1, b"%d" % token]
    assert say(port, late) == 0
    assert command(port, "GET", "a").startswith(mine.own)
    timely = YIELD.pack([b"a", SINGLE.index], ours.member(mine, 0), its.own[3:], ours.epochs.now)
    assert say(port, timely) == 1
    assert command(port, "GET", "a").startswith(its.own)


def test_a_release_gives_the_vote_to_nobody_who_has_just_released(ports: list[int]) -> None:
    """With a majority, it kept its place where it had no vote, and got that one by a renewal."""
    port = ports[0]
    open_at(port)
    say(port, RELEASE.load)
    lease = Lease(HOLDER, 120, "channel", 1)
    entry = lease.note(REQUEST, Place(b"a", clustered=False), 0.0)
    command(port, "SET", "a", f"{entry.own.decode()}7:1:holder")
    command(port, "ZADD", "fencepost\0queue\0a", "1", lease.member(entry, 0).decode())
    keys = [b"a", b"fencepost\0queue\0a", SINGLE.mark]
    assert say(port, RELEASE.pack(keys, entry.own, lease.member(entry, 0))) == 1
    assert command(port, "EXISTS", "a", "fencepost\0queue\0a") == 0


def test_an_opening_that_a_node_hears_after_its_lease_has_gone_on_lets_no_claim_in_that_was_given_up(
    ports: list[int],
) -> None:
    port = ports[2]
    say(port, OPEN.load)
    lease = Lease(HOLDER, 120, "channel", 3)
    opening = OPEN.pack([lease.key], lease.ttl)
    # The node is slow, and hears neither of these before what follows on another connection.
    entry = lease.note(REQUEST, Place(b"a", clustered=False), 0.0)
    late = lease.claim(entry, wait=False)[1][2]
    lease.epochs.advance()
    assert say(port, lease.leave(entry)[0]) == 1
    say(port, opening)
    assert say(port, late) == [-2]
    assert command(port, "EXISTS", "a") == 0


@pytest.mark.slow
@pytest.mark.parametrize("is_held", [True, False], ids=["held", "waited for"])
def test_what_is_asked_of_a_stopped_node_does_not_grow_and_has_no_effect_when_it_wakes(
    nodes: list[ServerProcess], is_held: bool
) -> None:
    """It keeps what each renewal, or each look, has said to it on a connection of its own."""
    ports = [port_of(node) for node in nodes[:3]]
    others = Engine(parse_url(url_of(ports)), clock=BootClock(), patience=60.0)
    engine = Engine(parse_url(f"{url_of(ports)}?node_timeout=0.1"), clock=BootClock(), patience=60.0)
    insist(lambda: engine.lease_open(HOLDER, 600))
    other = Request(Holder("1" * 24, "other"), 1, (Ask("a"),))
    others.lease_open(other.holder, 600)
    before = None if is_held else others.claim(other, wait=False)
    nodes[2].pause()
    answer = insist(lambda: engine.claim(REQUEST, wait=not is_held))
    assert isinstance(answer, Granted if is_held else Queued)
    entry = engine._leases[HOLDER.id].entries[1]
    for _ in range(40):
        assert insist(lambda: engine.lease_renew(HOLDER, 600, ())).alive
        if not is_held:
            assert isinstance(insist(lambda: engine.claim(REQUEST, wait=True)), Queued)
    assert len(entry.asked) < 20
    if is_held:
        insist(lambda: engine.release(Claim(HOLDER, 1, Ask("a"), entry.token)))
    else:
        insist(lambda: engine.withdraw(REQUEST))
    nodes[2].resume()
    if isinstance(before, Granted):
        assert others.release(Claim(other.holder, 1, Ask("a"), before.tokens[0]))
    until(lambda: [command(port, "EXISTS", "a", "fencepost\0queue\0a") for port in ports] == [0, 0, 0])
    insist(lambda: engine.lease_close(HOLDER))
    others.lease_close(other.holder)
    engine.close()
    others.close()


def insist(call: Callable[[], T]) -> T:
    """Two nodes have little time to answer, too: again until they do."""
    while True:
        try:
            return call()
        except Unavailable:
            pass
