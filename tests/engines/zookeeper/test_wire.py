"""Connections under many hands: threads, tasks, forks, and servers that talk nonsense."""

import asyncio
import itertools
import math
import os
import select
import socket
import threading
import time
import uuid
from contextlib import suppress

import pytest

import fencepost
from fencepost import Unavailable
from fencepost._runtime import threads as runtime
from fencepost._runtime.clock import boottime
from fencepost.contract import registry
from fencepost.core.holder import Holder
from fencepost.core.url import parse_url
from fencepost.engines.zookeeper import jute
from fencepost.engines.zookeeper._sync.engine import ZookeeperEngine
from fencepost.engines.zookeeper._sync.link import Link
from fencepost.engines.zookeeper.address import locate
from fencepost.engines.zookeeper.frame import Intake
from fencepost.engines.zookeeper.jute import Reply
from fencepost.engines.zookeeper.waiter import Waiter
from fencepost.engines.zookeeper.wire import threads
from fencepost.testing.condition import until
from fencepost.testing.port import free_port
from fencepost.testing.zookeeper import ZookeeperServer, shared_server
from tests.support.engine import engine_as
from tests.support.interruption import interrupt_at
from tests.support.zookeeper.observer import Observer

LASTING = 60.0
# For what comes within seconds, on a machine that is busy with something else.
PATIENCE = 90.0


@pytest.fixture
def where() -> str:
    return f"zookeeper://127.0.0.1:{shared_server().port}/{uuid.uuid4().hex}"


def test_threads_share_one_connection_and_get_their_own_answers(where: str) -> None:
    with fencepost.connect(where, ttl=LASTING) as session:
        inside = [0] * 4
        most = [0] * 4
        failures: list[BaseException] = []

        def work(number: int) -> None:
            try:
                for turn in range(15):
                    which = (number + turn) % 4
                    with session.lock(f"lock {which}", timeout=PATIENCE) as grant:
                        inside[which] += 1
                        most[which] = max(most[which], inside[which])
                        holders = session.look(f"lock {which}").holders
                        assert [each.claim.token for each in holders] == [grant.token]
                        inside[which] -= 1
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=work, args=[number]) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE)
        assert not failures
        assert most == [1] * 4
        assert session.statistics().granted == 120


async def test_nothing_blocks_the_event_loop_while_a_server_is_silent(server: ZookeeperServer) -> None:
    async with fencepost.connect_async(f"zookeeper://127.0.0.1:{server.port}/loop", ttl=LASTING) as session:
        await (await session.lock("a").acquire()).release()
        server.pause()
        try:
            asking = asyncio.ensure_future(session.lock("a").try_acquire())
            for _ in range(5):
                await asyncio.sleep(0.01)
            # A loop that is blocked would turn again only after it was given up, too late to wake the server.
            assert not asking.done()
        finally:
            server.resume()
        assert await asking is not None


async def test_tasks_share_one_connection(where: str) -> None:
    async with fencepost.connect_async(where, ttl=LASTING) as session:

        async def work(number: int) -> int:
            async with session.lock(f"lock {number % 5}", timeout=PATIENCE) as grant:
                return grant.token

        tokens = await asyncio.gather(*(work(number) for number in range(100)))
        assert len(set(tokens)) == 100


def test_a_forked_child_closes_its_copy_and_the_parent_goes_on(where: str) -> None:
    with fencepost.connect(where, ttl=LASTING) as session:
        grant = session.lock("a").acquire()
        sockets = _sockets()
        child = os.fork()
        if child == 0:
            os._exit(0 if not _sockets() & sockets else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert [each.claim.token for each in session.look("a").holders] == [grant.token]
        grant.release()


def _sockets() -> set[str]:
    """The sockets that are open here and connected to the server, by their inode."""
    port = f"{shared_server().port:04X}"
    with open("/proc/self/net/tcp") as table:
        connected = {line.split()[9] for line in table if line.split()[2].endswith(f":{port}")}
    found = set()
    for descriptor in os.listdir("/proc/self/fd"):
        try:
            target = os.readlink(f"/proc/self/fd/{descriptor}")
        except OSError:
            continue
        if target.startswith("socket:[") and target[8:-1] in connected:
            found.add(target)
    return found


@pytest.mark.parametrize("said", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\0\0\0\x02ab", b""])
def test_something_that_is_no_zookeeper_is_unavailable(said: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            peer, _ = listener.accept()
            peer.recv(1000)
            peer.sendall(said)
            peer.close()

        serving = threading.Thread(target=serve)
        serving.start()
        session = fencepost.connect(f"zookeeper://127.0.0.1:{listener.getsockname()[1]}/x", ttl=LASTING)
        with pytest.raises(Unavailable, match="can not be reached"):
            session.lock("a").acquire(timeout=0)
        session.close()
        serving.join()


def test_a_server_that_is_not_there_is_unavailable_at_once() -> None:
    patience = 120.0
    engine = registry.engine("zookeeper")(
        parse_url("zookeeper://127.0.0.1:1/x"), clock=runtime.BootClock(), patience=patience
    )
    started_at = time.monotonic()
    with pytest.raises(Unavailable, match="Connection refused"):
        engine.lease_open(Holder("h", "h"), 3 * patience)
    assert time.monotonic() - started_at < patience / 2
    engine.close()


def test_a_look_after_a_long_silence_finds_a_session() -> None:
    """The session that is only looked through is renewed by nobody, and ends when it is not used."""
    server = shared_server()
    session = fencepost.connect(f"zookeeper://127.0.0.1:{server.port}/look", ttl=LASTING)
    assert session.look("a").holders == ()
    link = engine_as(session, ZookeeperEngine)._sight._own
    assert link is not None
    connection = link.present
    assert connection is not None
    ours = connection._socket
    with Observer(server) as observer:
        observer.end_session(link.session)
    assert ours is not None
    until(lambda: bool(select.select([ours], [], [], 0)[0]))
    connection._read_at = -math.inf
    assert session.look("a").holders == ()
    session.close()


class Kept(list[Reply]):
    def add(self, reply: Reply) -> None:
        self.append(reply)


@pytest.mark.unit
def test_frames_may_come_in_any_pieces() -> None:
    replies, events = Kept(), []
    reply = jute.frame(1, bytes(12) + b"payload")
    event = jute.frame(-1, bytes(12) + b"\0\0\0\2" + b"\0\0\0\3" + jute.buffer(b"/a"))
    body = reply + event
    for size in (1, 3, 7, 100):
        intake = Intake(lambda path, gone: events.append((path, gone)))
        intake.pending.append((1, replies))
        for start in range(0, len(body), size):
            intake.feed(body[start : start + size])
    assert replies == [Reply(0, b"payload")] * 4
    assert events == [(b"/a", True)] * 4


@pytest.mark.unit
def test_an_answer_that_nobody_asked_for_ends_the_connection() -> None:
    intake = Intake(lambda path, gone: None)
    with pytest.raises(ValueError, match="nobody asked"):
        intake.feed(jute.frame(7, b"\0" * 12))


def test_whoever_comes_while_another_only_glances_reads_at_once_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    # Nobody who sleeps wakes up in time by itself.
    monkeypatch.setattr(threads, "LONGEST_NAP", LASTING)
    waiter = Waiter()
    waiting = threading.Thread(target=lambda: connection.wait(waiter, boottime() + LASTING), daemon=True)

    class Glancing(threads.Connection):
        def _take_in(self, data: bytes) -> None:
            if data == b"glance":
                waiting.start()
                until(lambda: waiter.bell is not None)
                # It looks once more whether anybody reads, and goes to sleep.
                time.sleep(0.05)
            else:
                waiter.tell(b"/gone", gone=True)

    with socket.create_server(("127.0.0.1", 0)) as server:
        connection = Glancing(5.0, lambda *_: None)
        connection.open(server.getsockname(), None, 5.0)
        peer, _ = server.accept()
        connection._read_at = -math.inf
        peer.sendall(b"glance")
        ours = connection._socket
        assert ours is not None
        until(lambda: bool(select.select([ours], [], [], 0)[0]))
        assert not connection.is_over
        peer.sendall(b"news")
        waiting.join(LASTING / 3)
        assert waiter.gone
        connection.close()
        peer.close()


def test_a_connection_that_another_thread_ends_while_this_one_speaks_is_unavailable(
    where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with fencepost.connect(where, ttl=LASTING) as session:
        session.look("a")

        def ending(xid: int, request: bytes) -> bytes:
            (connection,) = [each for each in list(threads._open) if each._sending.locked()]
            reader = threading.Thread(target=connection.end, args=[ConnectionError("the server closed the connection")])
            reader.start()
            reader.join(PATIENCE)
            monkeypatch.undo()
            return jute.frame(xid, request)

        monkeypatch.setattr(threads, "frame", ending)
        with pytest.raises(Unavailable):
            session.look("a")
        assert session.look("a").holders == ()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning")
def test_no_server_is_lost_by_whoever_is_interrupted_as_it_leaves_one() -> None:
    ports = [free_port() for _ in range(3)]
    for point in itertools.count():
        address = locate(parse_url(f"zookeeper://{','.join(f'127.0.0.1:{port}' for port in ports)}"))
        link = Link(address, LASTING, lambda node, gone: None, clock=runtime.BootClock(), patience=LASTING)

        def connect(link: Link = link) -> None:
            with suppress(Unavailable):
                link.connection()

        where = interrupt_at(point, connect)
        assert sorted(port for _, port in link._hosts) == sorted(ports), f"after {where}"
        if where is None:
            break
    assert point > 3
