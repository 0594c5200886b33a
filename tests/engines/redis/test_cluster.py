"""A cluster of which one server hangs, or a slot is on its way; and threads that claim during a renewal."""

from collections.abc import ItemsView, Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

import fencepost
from fencepost._runtime.threads import BootClock
from fencepost.contract.answer import Granted, Queued
from fencepost.core.claim import Ask, Claim, Mode, Request
from fencepost.core.holder import Holder
from fencepost.core.url import parse_url
from fencepost.engines.redis.cluster._sync.engine import Engine
from fencepost.engines.redis.key import Shard, shard_of, slot_of
from fencepost.engines.redis.lease import Lease
from fencepost.engines.redis.resp import Reply
from fencepost.engines.redis.script import Script
from fencepost.engines.redis.wire.threads import Link
from fencepost.errors import Unavailable
from fencepost.testing.condition import until
from fencepost.testing.port import free_port
from fencepost.testing.redis import command, join_cluster, port_of
from fencepost.testing.server import ServerProcess
from tests.support.redis.cluster import cluster_of

from .conftest import StartServer

SHARE = 16384 // 3 + 1
CLUSTERED = ("--cluster-enabled", "yes", "--cluster-node-timeout", "600000", "--cluster-port")


@pytest.fixture
def servers(start_server: StartServer) -> list[ServerProcess]:
    """Three masters; the first has the first third of the slots, and so on."""
    servers = [start_server(*CLUSTERED, str(free_port())) for _ in range(3)]
    join_cluster(tuple(port_of(server) for server in servers))
    return servers


@pytest.fixture
def engine(servers: list[ServerProcess]) -> Iterator[Engine]:
    engine = Engine(parse_url(hosts_of(servers)), clock=BootClock(), patience=60.0)
    yield engine
    engine.close()


def hosts_of(servers: list[ServerProcess]) -> str:
    return "redis+cluster://" + ",".join(f"127.0.0.1:{port_of(server)}" for server in servers)


def name_at(number: int) -> str:
    return next(text for text in map(str, range(1000)) if slot_of(text.encode()) // SHARE == number)


def holder_at(number: int) -> Holder:
    """One whose lease stands at that server when it has nothing on it."""
    ids = (f"{count:024d}" for count in range(1000))
    return Holder(next(each for each in ids if slot_of(each.encode()) // SHARE == number), "holder")


@pytest.mark.slow
def test_a_master_that_hangs_and_has_nothing_of_ours_costs_nothing(
    engine: Engine, servers: list[ServerProcess]
) -> None:
    holder, ask, waited_for = holder_at(2), Ask(name_at(0)), Ask(name_at(2))
    engine.lease_open(holder, 120)
    other = holder_at(1)
    engine.lease_open(other, 120)
    assert isinstance(engine.claim(Request(other, 1, (waited_for,)), wait=False), Granted)
    granted = engine.claim(Request(holder, 1, (ask,)), wait=False)
    assert isinstance(granted, Granted)
    claim = Claim(holder, 1, ask, granted.tokens[0])
    engine.claim(Request(holder, 2, (waited_for,)), wait=True)
    # That this one does not answer is known soon; the others may take their time.
    hung = cluster_of(engine)._nodes["127.0.0.1", port_of(servers[2])]
    hung.link.close()
    hung.link = Link(hung.address, 0.3)
    servers[2].pause()
    for _ in range(2):
        assert engine.lease_renew(holder, 120, [claim]) == (True, ())
    # Who holds something there can not tell.
    with pytest.raises(Unavailable):
        engine.lease_renew(other, 120, [Claim(other, 1, waited_for, 1)])
    servers[2].resume()


@contextmanager
def cut_off(engine: Engine, server: ServerProcess) -> Iterator[None]:
    """This engine can not reach the server; everybody else can."""
    node = cluster_of(engine)._nodes["127.0.0.1", port_of(server)]
    node.link.close()
    node.link = Link(replace(node.address, port=free_port()), 60.0)
    yield
    node.link = Link(node.address, 60.0)


@pytest.mark.parametrize(
    "ask", [Ask(name_at(0), Mode.SHARED), Ask(name_at(0), Mode.COUNTED, 1, 1)], ids=["shared", "counted"]
)
def test_a_grant_told_of_by_a_server_that_renewals_do_not_reach_is_not_believed(
    engine: Engine, servers: list[ServerProcess], ask: Ask
) -> None:
    holder, others = holder_at(2), hosts_of(servers)
    engine.lease_open(holder, 120)
    with fencepost.connect(others, ttl=120) as session:
        held = session.lock(ask.name).acquire()
        request = Request(holder, 1, (ask,))
        queued = engine.claim(request, wait=True)
        assert isinstance(queued, Queued)
        with cut_off(engine, servers[0]):
            # Nothing is held there, so the lease goes on elsewhere.
            assert engine.lease_renew(holder, 120, []) == (True, ())
            held.release()
            assert [each.claim.holder for each in session.look(ask.name).holders] == [holder]
            # And there it ends, since no renewal came.
            lease = shard_of(slot_of(ask.name.encode())).lease(holder.id)
            assert command(port_of(servers[0]), "DEL", lease.decode()) == 1
            writer = session.lock(ask.name).acquire(timeout=60)
            with pytest.raises(Unavailable):
                engine.wait(queued, 60)
        # Its lease is opened there anew: nobody has given it up.
        queued = engine.claim(request, wait=True)
        assert isinstance(queued, Queued)
        writer.release()
        granted = engine.wait(queued, 60)
        assert isinstance(granted, Granted)
        assert granted.tokens[0] > writer.token
        assert engine.lease_renew(holder, 120, [Claim(holder, 1, ask, granted.tokens[0])]) == (True, ())


def test_a_claim_granted_while_a_renewal_does_not_get_through_opens_its_lease_anew(
    engine: Engine, servers: list[ServerProcess]
) -> None:
    holder, slot = holder_at(2), slot_of(name_at(0).encode())
    ask = Ask(name_at(0), Mode.SHARED)
    engine.lease_open(holder, 120)
    assert isinstance(engine.claim(Request(holder, 1, (ask,)), wait=False), Granted)
    engine.withdraw(Request(holder, 1, (ask,)))
    lease = shard_of(slot).lease(holder.id).decode()
    command(port_of(servers[0]), "PEXPIRE", lease, 60_000)
    run = engine._server.run
    asked = []

    def run_meanwhile(script: Script, command: bytes, slot: int) -> Reply:
        reply = run(script, command, slot)
        asked.append(reply)
        if len(asked) == 1:
            with cut_off(engine, servers[0]):
                engine.lease_renew(holder, 120, [])
        return reply

    engine._server.run = run_meanwhile  # type: ignore[method-assign]
    granted = engine.claim(Request(holder, 2, (ask,)), wait=False)
    assert isinstance(granted, Granted)
    assert asked == [[1, b"%d" % granted.tokens[0]]] * 2
    assert command(port_of(servers[0]), "PTTL", lease) > 60_000


def test_a_server_that_has_forgotten_a_lease_costs_nothing_of_what_is_held_elsewhere(
    engine: Engine, servers: list[ServerProcess]
) -> None:
    holder, here, there = holder_at(2), Ask(name_at(0)), Ask(name_at(1))
    engine.lease_open(holder, 120)
    claims = []
    for serial, ask in enumerate((here, there), 1):
        granted = engine.claim(Request(holder, serial, (ask,)), wait=False)
        assert isinstance(granted, Granted)
        claims.append(Claim(holder, serial, ask, granted.tokens[0]))
    command(port_of(servers[0]), "FLUSHALL")
    granted = engine.claim(Request(holder, 3, (here,)), wait=False)
    assert isinstance(granted, Granted)
    claims.append(Claim(holder, 3, here, granted.tokens[0]))
    renewal = engine.lease_renew(holder, 120, claims)
    assert renewal.alive
    assert [(serial, name) for serial, name, _ in renewal.gone] == [(1, here.name)]


def hold_one_name_at_each(engine: Engine) -> list[str]:
    held = []
    for number in range(3):
        engine.lease_open(holder_at(number), 120)
        held.append(name_at(number))
        request = Request(holder_at(number), 1, (Ask(held[-1]),))
        assert isinstance(engine.claim(request, wait=False), Granted)
    return sorted(held)


def test_the_names_at_a_master_that_failed_once_are_not_left_out(engine: Engine, servers: list[ServerProcess]) -> None:
    held = hold_one_name_at_each(engine)
    hung = cluster_of(engine)._nodes["127.0.0.1", port_of(servers[2])]
    hung.link.close()
    hung.link = Link(hung.address, 0.3)
    servers[2].pause()
    with pytest.raises(Unavailable):
        engine.look(name_at(2))
    # As long as nobody can tell what it has, nobody says so.
    with pytest.raises(Unavailable):
        engine.names("")
    servers[2].resume()
    hung.link.close()
    hung.link = Link(hung.address, 60.0)
    assert sorted(engine.names("")) == held


def test_a_master_that_died_is_left_for_the_one_that_has_its_slots_now(
    engine: Engine, servers: list[ServerProcess]
) -> None:
    *living, dead = servers
    holder, name = holder_at(2), name_at(2)
    assert engine.look(name).holders == ()
    dead.kill()
    for server in living:
        command(port_of(server), "CLUSTER", "DELSLOTSRANGE", 2 * SHARE, 16383)
    command(port_of(living[0]), "CLUSTER", "ADDSLOTSRANGE", 2 * SHARE, 16383)
    until(lambda: all(slots_known_to(server) == 16384 for server in living))
    with pytest.raises(Unavailable):
        engine.look(name)
    engine.lease_open(holder, 120)
    assert isinstance(engine.claim(Request(holder, 1, (Ask(name),)), wait=False), Granted)


def slots_known_to(server: ServerProcess) -> int:
    return sum(last - first + 1 for first, last, *_ in command(port_of(server), "CLUSTER", "SLOTS"))


@pytest.mark.slow
def test_names_are_looked_for_where_the_slots_are_now(
    engine: Engine, servers: list[ServerProcess], start_server: StartServer
) -> None:
    held = hold_one_name_at_each(engine)
    slot = slot_of(name_at(2).encode())
    added = start_server(*CLUSTERED, str(free_port()))
    bus = command(port_of(servers[0]), "CONFIG", "GET", "cluster-port")[1]
    command(port_of(added), "CLUSTER", "MEET", "127.0.0.1", port_of(servers[0]), int(bus))
    everybody = [*servers, added]
    until(lambda: all(knows_four_and_is_up(port_of(each)) for each in everybody))
    move_slot(slot, port_of(servers[2]), port_of(added), everybody)
    # This engine has not asked for anything there since, and so was not told.
    assert sorted(engine.names("")) == held


@pytest.mark.slow
def test_names_are_not_told_while_nobody_has_some_of_the_slots(engine: Engine, servers: list[ServerProcess]) -> None:
    hold_one_name_at_each(engine)
    slot = slot_of(name_at(2).encode())
    for server in servers:
        command(port_of(server), "CLUSTER", "DELSLOTS", slot)
    with pytest.raises(Unavailable, match=f"no server of the cluster has slot {slot}"):
        engine.names("")


def knows_four_and_is_up(port: int) -> bool:
    said = command(port, "CLUSTER", "INFO")
    return b"cluster_known_nodes:4" in said and b"cluster_state:ok" in said


def move_slot(slot: int, source: int, target: int, everybody: list[ServerProcess]) -> None:
    there = command(target, "CLUSTER", "MYID").decode()
    command(target, "CLUSTER", "SETSLOT", slot, "IMPORTING", command(source, "CLUSTER", "MYID").decode())
    command(source, "CLUSTER", "SETSLOT", slot, "MIGRATING", there)
    while keys := command(source, "CLUSTER", "GETKEYSINSLOT", slot, 100):
        command(source, "MIGRATE", "127.0.0.1", target, "", 0, 5000, "KEYS", *(key.decode() for key in keys))
    for port in (target, *(port_of(each) for each in everybody)):
        command(port, "CLUSTER", "SETSLOT", slot, "NODE", there)


@pytest.mark.slow
@pytest.mark.parametrize("ask", [Ask("x", Mode.SHARED), Ask("x", Mode.COUNTED, 1, 1)], ids=["shared", "counted"])
def test_what_is_asked_of_a_slot_on_its_way_may_be_asked_again(
    engine: Engine, servers: list[ServerProcess], ask: Ask
) -> None:
    slot = slot_of(b"x")
    source, target = port_of(servers[slot // SHARE]), port_of(servers[(slot // SHARE + 1) % 3])
    first, second = holder_at(0), holder_at(1)
    for holder in (first, second):
        engine.lease_open(holder, 120)
    assert isinstance(engine.claim(Request(first, 1, (ask,)), wait=False), Granted)
    command(target, "CLUSTER", "SETSLOT", slot, "IMPORTING", command(source, "CLUSTER", "MYID").decode())
    command(source, "CLUSTER", "SETSLOT", slot, "MIGRATING", command(target, "CLUSTER", "MYID").decode())
    hold = shard_of(slot).prefix + b"hold\0x"
    command(source, "MIGRATE", "127.0.0.1", target, hold.decode(), 0, 5000)
    with pytest.raises(Unavailable):
        engine.claim(Request(second, 1, (ask,)), wait=False)


@pytest.mark.unit
def test_a_slot_that_another_thread_claims_in_during_a_renewal_does_no_harm() -> None:
    class Slots(dict[int, Shard]):
        def items(self) -> ItemsView[int, Shard]:  # type: ignore[override]
            """Whoever goes through them one by one gives way to other threads in between."""

            def gone_through() -> Iterator[tuple[int, Shard]]:
                for slot in self:
                    yield slot, self[slot]
                    self[slot + 1] = shard_of(slot + 1)

            return gone_through()  # type: ignore[return-value]

    lease = Lease(Holder("0" * 24, "holder"), 60, "channel")
    lease.slots = Slots({0: shard_of(0), 5: shard_of(5)})
    lease.home = (0, shard_of(0))
    assert [batch.slot for batch in lease.renewals()] == [0]
    assert set(lease.slots) == {0}


def test_whose_place_nobody_says_is_asked_for_once_in_a_renewal(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    holder = holder_at(0)
    engine.lease_open(holder, 300)
    for serial in range(3):
        assert isinstance(engine.claim(Request(holder, serial, (Ask(name_at(serial)),)), wait=False), Granted)
    asked: list[None] = []

    def say_nothing() -> None:
        asked.append(None)
        raise Unavailable("nobody answers")

    with monkeypatch.context() as patch:
        patch.setattr(engine._server, "_map", say_nothing)
        cluster_of(engine)._slots.clear()
        with pytest.raises(Unavailable, match="nobody answers"):
            engine.lease_renew(holder, 300, ())
    assert len(asked) == 1
    assert engine.lease_renew(holder, 300, ()).alive
