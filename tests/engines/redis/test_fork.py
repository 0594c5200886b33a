"""A forked child has its parent's sockets, and its event loop's, and must leave them alone."""

import asyncio
import gc
import os
import warnings

import fencepost


async def test_a_child_that_closes_or_forgets_an_asynchronous_engine_does_not_deafen_its_parent(url: str) -> None:
    async with fencepost.connect_async(url, ttl=300) as holder, fencepost.connect_async(url, ttl=300) as session:
        held = await holder.lock("a").acquire()
        waiting = asyncio.ensure_future(session.lock("a").acquire())
        while not (await holder.look("a")).waiters:
            await asyncio.sleep(0.005)
        closing = session.engine.close()
        with warnings.catch_warnings():
            # That a child of threads may lock itself out is not what is tested: it does nothing but this, and ends.
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
        if child == 0:
            try:
                closing.send(None)
            except StopIteration:
                for name in ("_server", "_ear"):
                    delattr(session.engine, name)
                gc.collect()
            finally:
                os._exit(0)
        closing.close()
        os.waitpid(child, 0)
        await held.release()
        grant = await asyncio.wait_for(waiting, 60)
        assert grant.token > held.token
        await asyncio.wait_for(grant.release(), 60)
