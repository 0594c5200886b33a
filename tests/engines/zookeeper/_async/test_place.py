# Written by hand; the blocking twin under _sync is generated from it.
"""A place in the line that somebody takes away: who has none is not granted, and goes to the end."""

import uuid
from typing import Any

import pytest
from kazoo.client import KazooClient
from kazoo.security import make_digest_acl

from fencepost.contract.answer import Busy
from fencepost.core.claim import Ask, Mode
from fencepost.engines.zookeeper import jute
from fencepost.engines.zookeeper._async.member import AsyncMember
from fencepost.primitives._async.connect import connect_async
from fencepost.primitives._async.session import AsyncSession
from fencepost.testing.contract._async.attempt import AsyncAttempt
from fencepost.testing.zookeeper import ZookeeperServer, shared_server
from tests.support.zookeeper._async.patience import LASTING, PATIENCE, so
from tests.support.zookeeper.observer import Observer


@pytest.fixture
def shared() -> ZookeeperServer:
    return shared_server()


@pytest.fixture
def folder() -> str:
    return uuid.uuid4().hex


def of(session: AsyncSession, kind: str, *, ahead: bool = False) -> Any:
    """What to take there; `ahead`: to keep all of that kind waiting."""
    if kind == "permit":
        return session.semaphore("a", limit=1, timeout=PATIENCE)
    if kind == "read" and not ahead:
        return session.rwlock("a", timeout=PATIENCE).read()
    return session.lock("a", timeout=PATIENCE)


async def link_of(session: AsyncSession) -> Any:
    keeper = await session.keeper()
    return session.engine._members[keeper.holder.id].link  # type: ignore[attr-defined]


@pytest.mark.parametrize("recipe", ["kazoo", "curator"])
@pytest.mark.parametrize("kind", ["lock", "read", "permit"])
async def test_whose_place_was_taken_away_has_its_turn_after_those_behind(
    shared: ZookeeperServer, folder: str, kind: str, recipe: str
) -> None:
    url = f"zookeeper://127.0.0.1:{shared.port}/{folder}?recipe={recipe}"
    with Observer(shared) as observer:
        async with (
            connect_async(url, ttl=LASTING) as first,
            connect_async(url, ttl=LASTING) as second,
            connect_async(url, ttl=LASTING) as third,
        ):
            held = await of(first, kind, ahead=True).acquire()
            robbed = AsyncAttempt(lambda: of(second, kind).acquire())
            await so(lambda: second.statistics().waiting == 1)
            behind = AsyncAttempt(lambda: of(third, kind, ahead=True).acquire())
            await so(lambda: third.statistics().waiting == 1)
            observer.client.delete(f"/{folder}/a/{observer.nodes(f'/{folder}/a')[1]}")
            await held.release()
            then = await behind.outcome(PATIENCE)
            await then.release()
            last = await robbed.outcome(PATIENCE)
            assert last.token > then.token
            assert observer.tokens(f"/{folder}/a") == [last.token]
            await last.release()


@pytest.mark.parametrize("kind", ["lock", "read", "permit"])
async def test_whose_place_was_taken_away_goes_to_the_end_at_once(
    shared: ZookeeperServer, folder: str, kind: str
) -> None:
    url = f"zookeeper://127.0.0.1:{shared.port}/{folder}"
    with Observer(shared) as observer:
        async with connect_async(url, ttl=LASTING) as first, connect_async(url, ttl=LASTING) as second:
            held = await of(first, kind, ahead=True).acquire()
            robbed = AsyncAttempt(lambda: of(second, kind).acquire())
            await so(lambda: second.statistics().waiting == 1)
            before = observer.nodes(f"/{folder}/a")
            observer.client.delete(f"/{folder}/a/{before[1]}")
            # Nobody leaves, and no lease is renewed meanwhile.
            await so(lambda: len(observer.nodes(f"/{folder}/a")) == 2, within=LASTING / 6)
            assert observer.nodes(f"/{folder}/a")[1] != before[1]
            await held.release()
            await (await robbed.outcome(PATIENCE)).release()


async def test_whose_place_was_taken_away_behind_a_node_that_it_may_not_read_goes_to_the_end(
    shared: ZookeeperServer, folder: str
) -> None:
    secret: Any = KazooClient(
        hosts=f"127.0.0.1:{shared.port}",
        auth_data=[("digest", "carol:x")],
        default_acl=[make_digest_acl("carol", "x", all=True)],
    )
    with Observer(shared) as observer:
        # For all, and to stay.
        observer.client.ensure_path(f"/{folder}/a")
        secret.start()
        try:
            lock = secret.Lock(f"/{folder}/a")
            lock.acquire()
            async with connect_async(f"zookeeper://127.0.0.1:{shared.port}/{folder}", ttl=LASTING) as session:
                robbed = AsyncAttempt(lambda: session.lock("a", timeout=PATIENCE).acquire())
                await so(lambda: session.statistics().waiting == 1)
                before = observer.nodes(f"/{folder}/a")
                observer.client.delete(f"/{folder}/a/{before[1]}")
                await so(lambda: len(observer.nodes(f"/{folder}/a")) == 2, within=LASTING / 6)
                assert observer.nodes(f"/{folder}/a")[1] != before[1]
                lock.release()
                grant = await robbed.outcome(PATIENCE)
                assert observer.tokens(f"/{folder}/a") == [grant.token]
                await grant.release()
        finally:
            secret.stop()
            secret.close()


async def test_whose_place_is_taken_away_as_the_one_before_leaves_is_not_granted(
    shared: ZookeeperServer, folder: str
) -> None:
    """Both have gone when it asks to be told of them."""
    url = f"zookeeper://127.0.0.1:{shared.port}/{folder}"
    with Observer(shared) as observer:
        async with (
            connect_async(url, ttl=LASTING) as first,
            connect_async(url, ttl=LASTING) as second,
            connect_async(url, ttl=LASTING) as third,
        ):
            held = await first.lock("a").acquire()
            link = await link_of(second)
            call = link.call
            others: list[AsyncAttempt[Any]] = []

            async def called(requests: Any) -> Any:
                if not others and requests[0][:4] == jute.read(jute.GET_DATA, b"")[:4]:
                    others.append(AsyncAttempt(lambda: third.lock("a", timeout=PATIENCE).acquire()))
                    await so(lambda: third.statistics().waiting == 1)
                    observer.client.delete(f"/{folder}/a/{observer.nodes(f'/{folder}/a')[1]}")
                    await held.release()
                return await call(requests)

            link.call = called
            robbed = AsyncAttempt(lambda: second.lock("a", timeout=PATIENCE).acquire())
            await so(lambda: others)
            then = await others[0].outcome(PATIENCE)
            await then.release()
            last = await robbed.outcome(PATIENCE)
            assert last.token > then.token
            await last.release()


async def test_a_reader_whose_place_is_taken_away_as_it_looks_at_a_writer_is_not_granted(
    shared: ZookeeperServer, folder: str
) -> None:
    url = f"zookeeper://127.0.0.1:{shared.port}/{folder}"
    with Observer(shared) as observer:
        async with connect_async(url, ttl=LASTING) as first, connect_async(url, ttl=LASTING) as second:
            written = await first.rwlock("a").write().acquire()
            await (await second.lock("b").acquire()).release()
            keeper = await second.keeper()
            member: AsyncMember = second.engine._members[keeper.holder.id]  # type: ignore[attr-defined]
            finds_reader = member._finds_reader

            async def taken_away(entry: Any, blocker: Any) -> bool:
                await first.rwlock("a").downgrade(written)
                observer.client.delete(entry.node.decode())
                return await finds_reader(entry, blocker)

            member._finds_reader = taken_away  # type: ignore[method-assign]
            answer = await second.engine.claim(keeper.request((Ask("a", Mode.SHARED),)), wait=False)
            assert isinstance(answer, Busy)


async def test_a_waiter_that_is_told_of_its_turn_asks_nothing_more(shared: ZookeeperServer, folder: str) -> None:
    url = f"zookeeper://127.0.0.1:{shared.port}/{folder}"
    async with connect_async(url, ttl=LASTING) as first, connect_async(url, ttl=LASTING) as second:
        held = await first.lock("a").acquire()
        link = await link_of(second)
        sends: list[int] = []
        call = link.call

        async def called(requests: Any) -> Any:
            sends.append(len(requests))
            return await call(requests)

        link.call = called
        waiting = AsyncAttempt(lambda: second.lock("a", timeout=PATIENCE).acquire())
        await so(lambda: second.statistics().waiting == 1)
        # To enter the line; to watch the one before and its own place.
        assert len(sends) == 2
        await held.release()
        grant = await waiting.outcome(PATIENCE)
        assert len(sends) == 2
        await grant.release()
