"""An asynchronous session belongs to one event loop: elsewhere it says so, and leaves nothing at the engine."""

import asyncio
import gc
from collections.abc import Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest

import fencepost
from fencepost import AsyncSession, SessionClosed, Unsupported


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite://{tmp_path}/locks.db"


async def block(session: AsyncSession) -> None:
    async with session.lock("a", timeout=5):
        pass


def run(work: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(asyncio.wait_for(work, 60))


@pytest.fixture
def collected() -> Iterator[None]:
    yield
    gc.collect()


# Closed after its event loop, it leaves its file open until it is collected.
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.usefixtures("collected")
def test_a_session_that_is_used_in_a_second_event_loop_says_so_and_leaves_nothing(url: str) -> None:
    session = fencepost.connect_async(url, ttl=60)
    run(block(session))
    for work in (lambda: block(session), lambda: session.look("a"), lambda: session.barrier("b", 1).wait()):
        with pytest.raises(SessionClosed, match="another event loop"):
            run(work())
    with fencepost.connect(url) as other:
        assert other.look("a").holders == ()
    run(session.close())
    with pytest.raises(SessionClosed, match="closed"):
        run(block(session))


def test_a_grant_is_released_in_its_own_event_loop_alone(url: str) -> None:
    session = fencepost.connect_async(url, ttl=60)

    async def main() -> None:
        grant = await session.lock("a").acquire()
        with pytest.raises(SessionClosed, match="another event loop"):
            await asyncio.to_thread(lambda: asyncio.run(grant.release()))
        with pytest.raises(SessionClosed, match="another event loop"):
            await asyncio.to_thread(lambda: asyncio.run(session.close()))
        # Whether it is held may be asked anywhere.
        await asyncio.to_thread(grant.check)
        await grant.release()
        await session.close()

    run(main())


def test_grants_are_released_together_in_their_own_event_loop_alone(url: str) -> None:
    session = fencepost.connect_async(url, ttl=60)

    async def main() -> None:
        grants = await session.lock_all(["a", "b"]).acquire()
        with pytest.raises(SessionClosed, match="another event loop"):
            await asyncio.to_thread(lambda: asyncio.run(grants.release()))
        assert grants.held
        await grants.release()
        await session.close()

    run(main())


def test_a_grant_is_shared_in_its_own_event_loop_alone(url: str) -> None:
    session = fencepost.connect_async(url, ttl=60)

    async def main() -> None:
        lock = session.rwlock("a")
        grant = await lock.write().acquire()
        with pytest.raises(SessionClosed, match="another event loop"):
            await asyncio.to_thread(lambda: asyncio.run(lock.downgrade(grant)))
        await lock.downgrade(grant)
        await grant.release()
        await session.close()

    run(main())


def test_a_session_without_asyncio_says_so() -> None:
    import trio

    with pytest.raises(Unsupported, match="asyncio"):
        trio.run(block, fencepost.connect_async("memory://trio"))
