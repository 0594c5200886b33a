"""Many names at once."""

from dataclasses import replace

import pytest

from fencepost import AcquireTimeout, connect, connect_async
from fencepost.engines.memory._async.engine import AsyncMemoryEngine
from fencepost.engines.memory._sync.engine import MemoryEngine
from fencepost.primitives._sync import grants
from fencepost.session._sync.grant import Grant
from fencepost.session._sync.surrender import of_one_request

pytestmark = pytest.mark.unit


def test_to_give_back_many_names_none_is_sought_among_all_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    sought = 0

    class Listed(list[Grant]):
        def __contains__(self, grant: object) -> bool:
            nonlocal sought
            sought += 1
            return super().__contains__(grant)

    monkeypatch.setattr(grants, "of_one_request", lambda held: Listed(of_one_request(held)))
    with connect("memory://many") as session:
        held = session.lock_all([f"name {number}" for number in range(20)]).acquire()
        held.release()
        assert sought == 0
        assert held.released


@pytest.fixture
def one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where the engine has no step that grants several names."""
    for kind in (AsyncMemoryEngine, MemoryEngine):
        monkeypatch.setattr(kind, "traits", replace(kind.traits, together=False))


@pytest.mark.usefixtures("one_by_one")
def test_who_takes_names_one_by_one_and_does_not_get_the_second_gives_back_the_first() -> None:
    with connect("memory://one-by-one", ttl=600) as session, session.lock("b"):
        both = session.lock_all(["a", "b"])
        assert both.try_acquire() is None
        assert session.names() == ["b"]
        with pytest.raises(AcquireTimeout):
            both.acquire(timeout=0.01)
        assert session.names() == ["b"]


@pytest.mark.usefixtures("one_by_one")
async def test_a_task_that_does_not_get_the_second_gives_back_the_first_too() -> None:
    async with connect_async("memory://one-by-one-task", ttl=600) as session, session.lock("b"):
        both = session.lock_all(["a", "b"])
        assert await both.try_acquire() is None
        assert await session.names() == ["b"]
        with pytest.raises(AcquireTimeout):
            await both.acquire(timeout=0.01)
        assert await session.names() == ["b"]
