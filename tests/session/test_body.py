"""How a cancelled or lost asynchronous body behaves beside other cancellations."""

import asyncio

import pytest

import fencepost

pytestmark = pytest.mark.unit


async def test_a_loss_is_told_from_a_cancellation_by_somebody_else() -> None:
    async with fencepost.connect_async("memory://") as session:
        inside = asyncio.Event()

        async def body() -> None:
            async with session.lock("a"):
                inside.set()
                await asyncio.sleep(60)

        task = asyncio.create_task(body())
        await inside.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (await session.look("a")).holders == ()


async def test_a_loss_inside_a_timeout_raises_lost_and_not_the_timeout() -> None:
    async with fencepost.connect_async("memory://") as session:
        keeper = await session.keeper()
        with pytest.raises(fencepost.Lost):
            async with asyncio.timeout(60):
                async with session.lock("a"):
                    asyncio.get_running_loop().call_soon(keeper.lose, "told so by the test")
                    await asyncio.sleep(60)


async def test_a_body_that_ends_as_the_loss_comes_leaves_no_cancellation_behind() -> None:
    async with fencepost.connect_async("memory://") as session:
        keeper = await session.keeper()
        with pytest.raises(fencepost.Lost):
            async with session.lock("a"):
                keeper.lose("told so by the test")
        task = asyncio.current_task()
        assert task is not None
        assert task.cancelling() == 0
        await asyncio.sleep(0)


async def test_a_cancellation_that_comes_with_the_loss_as_the_body_ends_is_not_lost() -> None:
    async with fencepost.connect_async("memory://") as session:
        keeper = await session.keeper()

        async def body() -> None:
            task = asyncio.current_task()
            assert task is not None
            try:
                async with session.lock("a"):
                    keeper.lose("told so by the test")
                    asyncio.get_running_loop().call_soon(task.cancel)
            except fencepost.Lost:
                pass
            await asyncio.sleep(60)

        task = asyncio.create_task(body())
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(asyncio.shield(task), 10)
        assert task.cancelled()
        assert (await session.look("a")).holders == ()


async def test_a_timeout_around_an_acquire_leaves_nothing() -> None:
    async with fencepost.connect_async("memory://") as session:
        held = await session.lock("a").acquire()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.02):
                await session.lock("a").acquire()
        assert (await session.look("a")).waiters == ()
        await held.release()


async def test_both_flavours_exclude_each_other_in_one_process() -> None:
    async with fencepost.connect_async("memory://shared") as ours:
        with fencepost.connect("memory://shared") as theirs, theirs.lock("a"):
            assert await ours.lock("a").try_acquire() is None
        async with ours.lock("a", timeout=20):
            pass
