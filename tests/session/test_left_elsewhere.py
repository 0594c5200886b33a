"""A block that is entered in one thread or task and left in another, as generators are that somebody else closes."""

import asyncio
from collections.abc import AsyncGenerator, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, ExitStack

import pytest

import fencepost

pytestmark = pytest.mark.unit


@pytest.fixture
def first() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as thread:
        yield thread


@pytest.fixture
def second() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as thread:
        yield thread


def dependency(lock: fencepost.Lock) -> Generator[fencepost.Grant, None, None]:
    with lock as grant:
        yield grant


async def dependency_of_tasks(lock: fencepost.AsyncLock) -> AsyncGenerator[fencepost.AsyncGrant, None]:
    async with lock as grant:
        yield grant


def test_a_block_left_in_another_thread_is_given_back(first: ThreadPoolExecutor, second: ThreadPoolExecutor) -> None:
    with fencepost.connect("memory://") as session:
        generator = dependency(session.lock("a"))
        first.submit(next, generator).result()
        second.submit(generator.close).result()
        assert session.look("a").holders == ()


async def test_a_block_left_in_another_task_is_given_back() -> None:
    async with fencepost.connect_async("memory://") as session:
        generator = dependency_of_tasks(session.lock("a"))
        await asyncio.create_task(anext(generator))
        await asyncio.create_task(generator.aclose())
        assert (await session.look("a")).holders == ()


def test_a_shared_object_gives_back_what_the_block_took(first: ThreadPoolExecutor, second: ThreadPoolExecutor) -> None:
    with fencepost.connect("memory://") as session:
        permits = session.semaphore("a", limit=2)
        one, other = dependency(permits), dependency(permits)
        ours, theirs = first.submit(next, one).result(), second.submit(next, other).result()
        second.submit(one.close).result()
        assert (ours.held, theirs.held) == (False, True)
        second.submit(other.close).result()
        assert session.look("a").holders == ()


async def test_a_shared_object_of_tasks_gives_back_what_the_block_took() -> None:
    async with fencepost.connect_async("memory://") as session:
        permits = session.semaphore("a", limit=2)
        one, other = dependency_of_tasks(permits), dependency_of_tasks(permits)

        async def swap_places() -> None:
            theirs = await anext(other)
            await one.aclose()
            assert (ours.held, theirs.held) == (False, True)

        ours = await anext(one)
        await asyncio.create_task(swap_places())
        await other.aclose()
        assert (await session.look("a")).holders == ()


def test_a_stack_may_be_closed_in_another_thread(first: ThreadPoolExecutor) -> None:
    with fencepost.connect("memory://") as session, ExitStack() as stack:
        stack.enter_context(session.lock("a"))
        first.submit(stack.close).result()
        assert session.look("a").holders == ()


async def test_a_stack_may_be_closed_in_another_task() -> None:
    async with fencepost.connect_async("memory://") as session, AsyncExitStack() as stack:
        await stack.enter_async_context(session.lock("a"))
        await asyncio.create_task(stack.aclose())
        assert (await session.look("a")).holders == ()


def test_nothing_is_given_back_where_it_could_be_somebody_elses(first: ThreadPoolExecutor) -> None:
    with fencepost.connect("memory://") as session:
        permits = session.semaphore("a", limit=2)
        stacks = ExitStack(), ExitStack()
        grants = [stack.enter_context(permits) for stack in stacks]
        with pytest.raises(RuntimeError, match="an object of its own"):
            first.submit(stacks[0].close).result()
        assert [grant.held for grant in grants] == [True, True]


async def test_nothing_of_a_task_is_given_back_where_it_could_be_somebody_elses() -> None:
    async with fencepost.connect_async("memory://") as session:
        permits = session.semaphore("a", limit=2)
        stacks = AsyncExitStack(), AsyncExitStack()
        grants = [await stack.enter_async_context(permits) for stack in stacks]
        with pytest.raises(RuntimeError, match="an object of its own"):
            await asyncio.create_task(stacks[0].aclose())
        assert [grant.held for grant in grants] == [True, True]


async def test_leaving_a_lost_block_in_another_task_cancels_nobody_else() -> None:
    async with fencepost.connect_async("memory://") as session:
        keeper = await session.keeper()
        generator = dependency_of_tasks(session.lock("a"))
        entered = asyncio.Event()

        async def enter() -> None:
            await anext(generator)
            entered.set()
            await asyncio.sleep(60)

        async def leave() -> int:
            await generator.aclose()
            task = asyncio.current_task()
            assert task is not None
            return task.cancelling()

        entering = asyncio.create_task(enter())
        await entered.wait()
        keeper.lose("told so by the test")
        assert await asyncio.create_task(leave()) == 0
        with pytest.raises(asyncio.CancelledError):
            await entering
        # What the loss did to the one who entered stays as it was.
        assert entering.cancelling() == 1


async def test_whoever_is_cancelled_while_it_leaves_the_lost_block_of_another_task_stays_cancelled() -> None:
    async with fencepost.connect_async("memory://") as session:
        keeper = await session.keeper()
        generator = dependency_of_tasks(session.lock("a"))
        await asyncio.create_task(anext(generator))
        keeper.lose("told so by the test")

        async def leave() -> None:
            task = asyncio.current_task()
            assert task is not None
            task.cancel()
            await generator.aclose()
            await asyncio.sleep(60)

        with pytest.raises(asyncio.CancelledError):
            await asyncio.create_task(leave())
        assert (await session.look("a")).holders == ()


def test_partitions_in_a_stack_may_be_given_up_in_another_thread(first: ThreadPoolExecutor) -> None:
    with fencepost.connect("memory://") as session, ExitStack() as stack:
        ownership = stack.enter_context(session.partitions("a", 2))
        first.submit(stack.close).result()
        assert ownership.released
