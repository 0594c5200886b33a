# Written by hand; the blocking twin under _sync is generated from it.
"""A session that is carried over to a server with other limits: the holder is told before another is granted."""

from collections.abc import Iterator
from functools import partial

import pytest

from fencepost import Lost
from fencepost.core.event import Event, LeaseLost
from fencepost.primitives._async.connect import connect_async
from fencepost.primitives._async.session import AsyncSession
from fencepost.testing import condition
from fencepost.testing.contract._async.attempt import until
from fencepost.testing.zookeeper import UP, ZookeeperServer
from tests.support.zookeeper._async.patience import ENDING, LASTING, PATIENCE, apart, so

# In milliseconds: less than the sessions here, more than those of whoever waits; and more than all of them.
SHORT, LONG = 6000, 100_000


@pytest.fixture(scope="module")
def changing() -> Iterator[ZookeeperServer]:
    with ZookeeperServer() as server:
        yield server


@pytest.fixture
def changed(changing: ZookeeperServer) -> Iterator[ZookeeperServer]:
    """A server that may come back with other limits."""
    configuration = changing.folder / "zoo.cfg"
    before = configuration.read_text()
    condition.until(lambda: changing.mode, UP)
    yield changing
    configuration.write_text(before)
    changing.restart()


def come_back(server: ZookeeperServer, **limits: int) -> None:
    """The last of two lines counts."""
    server.stop()
    with (server.folder / "zoo.cfg").open("a") as configuration:
        configuration.writelines(f"{key}={value}\n" for key, value in limits.items())
    server.start()
    condition.until(lambda: server.mode, UP)


async def renew(session: AsyncSession) -> None:
    await until((await session.keeper())._renew, PATIENCE)


@pytest.mark.parametrize("asked", ["renewal", pytest.param("look", marks=pytest.mark.slow)])
async def test_a_session_that_goes_on_for_less_time_is_lost_before_another_is_granted(
    changed: ZookeeperServer, asked: str
) -> None:
    """Whatever finds it out: the next renewal may come too late."""
    url = f"zookeeper://127.0.0.1:{changed.port}/carry"
    async with connect_async(url, ttl=LASTING) as first, connect_async(url, ttl=ENDING) as second:
        told: list[Event] = []
        first.subscribe(told.append, LeaseLost)
        old = await first.lock("a").acquire(timeout=PATIENCE)
        await apart(lambda: come_back(changed, maxSessionTimeout=SHORT))
        if asked == "renewal":
            await renew(first)
        else:
            await first.look("a")
        assert not old.held
        with pytest.raises(Lost):
            old.check()
        new = await second.lock("a").acquire(timeout=PATIENCE)
        assert new.token > old.token
        await new.release()
        await so(lambda: told)
        assert "maxSessionTimeout" in str(told[0])


@pytest.mark.slow
async def test_a_session_that_went_on_for_more_time_may_go_back_to_its_own(changed: ZookeeperServer) -> None:
    url = f"zookeeper://127.0.0.1:{changed.port}/carry"
    async with connect_async(url, ttl=LASTING) as session:
        grant = await session.lock("a").acquire(timeout=PATIENCE)
        for least in (LONG, 200):
            await apart(partial(come_back, changed, minSessionTimeout=least))
            await renew(session)
            assert grant.held
        await grant.release()
