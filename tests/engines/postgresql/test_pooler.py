"""Behind a real PgBouncer that pools transactions."""

import threading
from collections.abc import Iterator

import psycopg
import pytest

import fencepost
from fencepost import Refused
from fencepost.contract.answer import Granted, Queued
from fencepost.core.claim import Ask
from fencepost.engines.postgresql._async.engine import AsyncPostgresqlEngine
from fencepost.engines.postgresql._sync.engine import PostgresqlEngine
from fencepost.testing.condition import until
from fencepost.testing.contract import CHAPTERS, Site
from fencepost.testing.contract.postgresql import TTL
from fencepost.testing.contract.postgresql import site as empty_site
from fencepost.testing.postgresql import query, shared_pgbouncer, shared_server
from tests.support.engine import engine_as
from tests.support.line import Line

from .conftest import at


@pytest.fixture
def pooler() -> Iterator[int]:
    """The port of the pooler that all tests of this process share, before an empty database."""
    with empty_site("postgresql"):
        # To empty it ends all connections to the server, also those of the pooler, which has to notice.
        port = shared_pgbouncer().port
        until(lambda: _answers(port))
        yield port


def _answers(port: int) -> bool:
    try:
        return query(port, "SELECT 1") == [(1,)]
    except psycopg.OperationalError:
        return False


@pytest.fixture(params=["postgresql"])
def site(pooler: int) -> Site:
    """Statements go through the pooler; listening goes past it."""
    return Site(at(pooler, options=f"?listen={at(shared_server())}"), ttl=TTL)


# The laws that a pooler could break; both flavours speak to it in the same way, so one of each is enough.
for chapter in CHAPTERS:
    if (chapter.law, chapter.flavour) in {("token", "async"), ("waiting", "sync"), ("unknown", "async")}:
        # Classes of their own: the same chapters, where they are not slow, stand in tests/contract.
        globals()[chapter.test_name] = pytest.mark.slow(type(chapter.test_name, (chapter.tests,), {}))


def test_advisory_locks_refuse_to_start_behind_it_and_name_the_other_mode(pooler: int) -> None:
    with pytest.raises(Refused, match=r"pooler is in the way.*use postgresql://"):
        fencepost.connect(at(pooler, "postgresql+advisory")).lock("a").acquire()


async def test_asynchronous_advisory_locks_refuse_to_start_behind_it(pooler: int) -> None:
    with pytest.raises(Refused, match=r"pooler is in the way.*use postgresql://"):
        await fencepost.connect_async(at(pooler, "postgresql+advisory")).lock("a").acquire()


def test_without_a_way_around_it_waiters_look_again_and_keep_their_order(pooler: int) -> None:
    sessions = [fencepost.connect(at(pooler), ttl=60, holder=str(number)) for number in range(4)]
    held = sessions[0].lock("a").acquire()
    line = Line(sessions[0])
    for session in sessions[1:]:
        line.join(session.lock("a", timeout=60))
    held.release()
    assert [each.label for each in line.served()] == ["1", "2", "3"]
    for session in sessions:
        session.close()


@pytest.mark.slow
def test_more_sessions_than_connections_to_the_server_never_share_a_lock(pooler: int) -> None:
    inside = most = 0
    tokens: list[int] = []

    def work(number: int) -> None:
        nonlocal inside, most
        with fencepost.connect(at(pooler), ttl=60, holder=str(number)) as session:
            for _ in range(10):
                with session.lock("a", timeout=60) as grant:
                    inside += 1
                    most = max(most, inside)
                    tokens.append(grant.token)
                    inside -= 1

    threads = [threading.Thread(target=work, args=[number]) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(100)
    assert most == 1
    assert tokens == sorted(set(tokens))
    assert len(tokens) == 80


@pytest.fixture(params=["a pooler", "another database"])
def misled(request: pytest.FixtureRequest, pooler: int) -> str:
    """A URL that names a way to listen on which nothing can be heard."""
    ways = {"a pooler": at(pooler), "another database": at(shared_server(), database="template1")}
    return at(pooler, options=f"?listen={ways[request.param]}")


def test_where_nothing_can_be_heard_waiters_look_again(misled: str) -> None:
    with fencepost.connect(misled, ttl=300) as first, fencepost.connect(misled, ttl=300) as second:
        held = first.lock("a").acquire(timeout=60)
        queued = second.engine.claim(second.keeper().request((Ask("a"),)), wait=True)
        assert isinstance(queued, Queued)
        # Else it looks when the lease ends: in minutes.
        assert engine_as(second, PostgresqlEngine)._channel.ear.is_deaf
        held.release()
        assert isinstance(second.engine.wait(queued, 60), Granted)


async def test_where_nothing_can_be_heard_waiting_tasks_look_again(misled: str) -> None:
    async with (
        fencepost.connect_async(misled, ttl=300) as first,
        fencepost.connect_async(misled, ttl=300) as second,
    ):
        held = await first.lock("a").acquire(timeout=60)
        queued = await second.engine.claim((await second.keeper()).request((Ask("a"),)), wait=True)
        assert isinstance(queued, Queued)
        assert engine_as(second, AsyncPostgresqlEngine)._channel.ear.is_deaf
        await held.release()
        assert isinstance(await second.engine.wait(queued, 60), Granted)


async def test_where_it_can_be_heard_it_is(pooler: int) -> None:
    url = at(pooler, options=f"?listen={at(shared_server())}")
    with fencepost.connect(url, ttl=300) as first, fencepost.connect(url, ttl=300) as second:
        first.lock("a").acquire(timeout=60)
        assert isinstance(second.engine.claim(second.keeper().request((Ask("a"),)), wait=True), Queued)
        assert not engine_as(second, PostgresqlEngine)._channel.ear.is_deaf
        async with fencepost.connect_async(url, ttl=300) as third:
            request = (await third.keeper()).request((Ask("a"),))
            assert isinstance(await third.engine.claim(request, wait=True), Queued)
            assert not engine_as(third, AsyncPostgresqlEngine)._channel.ear.is_deaf
