"""What stands at the servers: paths, containers that go, records that stay bounded, sessions as long as asked."""

import threading
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

import fencepost
from fencepost import Refused
from fencepost.core.claim import Ask, Request
from fencepost.core.holder import Holder
from fencepost.engines.zookeeper import jute
from fencepost.engines.zookeeper._async import sight as async_sight
from fencepost.engines.zookeeper._sync import sight
from fencepost.engines.zookeeper._sync.engine import ZookeeperEngine
from fencepost.engines.zookeeper.contender import Recipe
from fencepost.engines.zookeeper.lease import Entry, Lease, longest_pause, session_timeout
from fencepost.engines.zookeeper.path import Folder, encode
from fencepost.testing.condition import until
from fencepost.testing.zookeeper import UP, ZookeeperServer, shared_server
from tests.support.engine import engine_as
from tests.support.renewal import renew
from tests.support.zookeeper.observer import Observer

LASTING = 60.0
# For what comes within seconds, on a machine that is busy with something else.
PATIENCE = 90.0


@pytest.fixture
def observer() -> Iterator[Observer]:
    with Observer(shared_server()) as observer:
        yield observer


@pytest.fixture
def folder() -> str:
    return uuid.uuid4().hex


@pytest.fixture
def where() -> str:
    return f"zookeeper://127.0.0.1:{shared_server().port}"


def test_nodes_of_locks_that_nobody_wants_any_more_do_not_pile_up(observer: Observer, where: str, folder: str) -> None:
    with fencepost.connect(f"{where}/{folder}", ttl=LASTING) as session:
        for number in range(20):
            session.lock(f"order/{number}").acquire().release()
        held = session.lock("held").acquire()
        until(lambda: observer.nodes(f"/{folder}") == ["held"], PATIENCE)
        # One that is gone is made again.
        with session.lock("order/7") as again:
            assert again.token > held.token


def test_the_path_and_the_prefix_say_where_a_lock_stands(observer: Observer, where: str, folder: str) -> None:
    with (
        fencepost.connect(f"{where}/{folder}/deep/down?prefix=jobs/nightly-", ttl=LASTING) as session,
        session.lock("a b/ü"),
    ):
        assert observer.nodes(f"/{folder}/deep/down/jobs") == ["nightly-a b%2Fü"]
        assert list(session.names()) == ["a b/ü"]
        assert list(session.names("a")) == ["a b/ü"]
        assert list(session.names("b")) == []


def test_locks_may_stand_at_the_root(observer: Observer, where: str) -> None:
    name = uuid.uuid4().hex
    with fencepost.connect(where, ttl=LASTING) as session, session.lock(name), session.lock("zookeeper"):
        assert len(observer.nodes(f"/{name}")) == 1
        assert {name, "zookeeper"} <= set(session.names())


@pytest.mark.unit
@pytest.mark.parametrize(
    "name", ["a", "a/b", ".", "..", ".a", "%", "%41", "\x01\x1f", "\u2028", "🔒", "ключ", "\ufffe"]
)
def test_a_name_is_found_again_in_its_path(name: str) -> None:
    folder = Folder("/app/locks-")
    path = folder.lock(name).decode()
    assert path.startswith("/app/locks-")
    assert "/" not in encode(name)
    assert folder.name(path.rpartition("/")[2]) == name


@pytest.mark.slow
@pytest.mark.parametrize(
    ("settings", "ttl", "said"),
    [({"tickTime": 2000}, 2, "at least 3 s"), ({"maxSessionTimeout": 4000}, 30, "at most 3 s")],
)
def test_a_ttl_that_the_server_does_not_keep_is_refused_with_one_that_it_does(
    settings: dict[str, object], ttl: float, said: str
) -> None:
    with ZookeeperServer(settings=settings) as server:
        until(lambda: server.mode, UP)
        session = fencepost.connect(f"zookeeper://127.0.0.1:{server.port}/ttl", ttl=ttl)
        with pytest.raises(Refused, match=f"use a ttl of {said}"):
            session.lock("a").acquire()
        session.close()
        with fencepost.connect(f"zookeeper://127.0.0.1:{server.port}/ttl", ttl=3) as session, session.lock("a"):
            pass


def test_the_record_of_evictions_is_bounded(
    observer: Observer, where: str, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (sight, async_sight):
        monkeypatch.setattr(module, "AUDIT_LENGTH", 3)
    with fencepost.connect(f"{where}/{folder}", ttl=LASTING, holder="operator") as session:
        tokens = []
        for _ in range(5):
            tokens.append(session.lock("a").acquire().token)
            session.evict("a")
        assert len(observer.nodes(f"/{folder}/.evictions")) == 3
        assert [each.token for each in session.look("a").evictions] == tokens[:1:-1]


def test_a_lease_is_kept_by_one_request_however_many_locks_it_has(where: str, folder: str) -> None:
    with fencepost.connect(f"{where}/{folder}", ttl=LASTING) as session:
        grants = [session.lock(f"lock {number}").acquire() for number in range(100)]
        member = engine_as(session, ZookeeperEngine)._members[session.keeper().holder.id]
        assert member.link.present is not None
        before = member.link.present._xid
        renew(session)
        # Each request has a number.
        assert member.link.present._xid - before < 10
        assert all(grant.held for grant in grants)


def test_a_node_of_our_session_that_nobody_here_knows_of_is_swept_away(
    observer: Observer, where: str, folder: str
) -> None:
    with fencepost.connect(f"{where}/{folder}", ttl=LASTING) as session:
        grant = session.lock("a").acquire()
        keeper = session.keeper()
        member = engine_as(session, ZookeeperEngine)._members[keeper.holder.id]
        stem = Recipe("kazoo").stem(Request(keeper.holder, 999, (Ask("a"),)))
        node = f"/{folder}/a/{stem}".encode()
        member.link.call([jute.create(jute.CREATE2, node, b"", jute.OPEN_TO_ALL, jute.EPHEMERAL_SEQUENCE)])
        assert len(observer.nodes(f"/{folder}/a")) == 2
        renew(session)
        assert len(observer.nodes(f"/{folder}/a")) == 1
        assert observer.tokens(f"/{folder}/a") == [grant.token]


def test_a_lock_changed_by_hand_is_noticed(observer: Observer, where: str, folder: str) -> None:
    with fencepost.connect(f"{where}/{folder}", ttl=LASTING) as session:
        grant, other = session.lock("a").acquire(), session.lock("b").acquire()
        (node,) = observer.nodes(f"/{folder}/a")
        observer.client.delete(f"/{folder}/a/{node}")
        renew(session)
        assert grant.lost.is_set()
        assert other.held


def test_a_waiter_is_not_fooled_by_a_change_of_the_node_before_it(observer: Observer, where: str, folder: str) -> None:
    with fencepost.connect(f"{where}/{folder}", ttl=LASTING) as session:
        held = session.lock("a").acquire()
        taken: list[fencepost.Grant] = []
        waiter = threading.Thread(target=lambda: taken.append(session.lock("a").acquire(timeout=PATIENCE)))
        waiter.start()
        until(lambda: len(observer.nodes(f"/{folder}/a")) == 2)
        first = observer.nodes(f"/{folder}/a")[0]
        observer.client.set(f"/{folder}/a/{first}", b"scribble")
        assert not taken
        held.release()
        waiter.join(PATIENCE)
        assert taken[0].held


# What an engine remembers of a lease


@pytest.mark.unit
def test_a_session_is_longer_than_its_lease_by_as_much_as_a_leader_may_know_late() -> None:
    assert session_timeout(9) == 12
    # Renewals come every third of the lease, less drift: in time for that.
    assert 9 * 0.99 / 3 < longest_pause(9) < 9 * 0.36


@pytest.mark.unit
def test_strays_are_nodes_of_ours_that_no_request_of_ours_has() -> None:
    recipe = Recipe("kazoo")
    holder = Holder("0" * 24, "first")
    lease = Lease("first", 9, recipe)
    known, unsure, gone = (Request(holder, serial, (Ask("a"),)) for serial in (1, 2, 3))
    lease.note(known, b"/a").node = b"/a/%b0000000001" % recipe.stem(known).encode()
    lease.note(unsure, b"/a")
    nodes = [
        b"/a/%b%010d" % (recipe.stem(request).encode(), number)
        for number, request in enumerate((known, known, unsure, gone), 1)
    ]
    # Its second node, and that of a request that was given up; one whose answer is not here yet is none.
    assert lease.strays([*nodes, b"/other/ephemeral"]) == [nodes[1], nodes[3]]


@pytest.mark.unit
def test_a_node_is_no_stray_though_its_answer_comes_while_strays_are_looked_for() -> None:
    recipe = Recipe("kazoo")
    request = Request(Holder("0" * 24, "first"), 1, (Ask("a"),))
    node = b"/a/%b0000000001" % recipe.stem(request).encode()

    class Answered(dict[int, Entry]):
        """A look at an entry finds it without its node, and the next one with it."""

        def get(self, key: int, default: Any = None) -> Any:
            entry = super().get(key, default)
            entry.node = node
            return entry

    lease = Lease("first", 9, recipe)
    lease.entries = Answered()
    lease.note(request, b"/a")
    assert lease.strays([node]) == []
    # But what came before that answer and is another is one.
    assert lease.strays([node[:-1] + b"0"]) == [node[:-1] + b"0"]
