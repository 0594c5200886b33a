# Written by hand; the blocking twin under _sync is generated from it.
"""A real process with a session of its own, told what to do line by line: to be stopped, forked and killed."""

import gc
import json
import os
import sys
from typing import Any

from fencepost._runtime import aio as runtime
from fencepost.errors import FencepostError
from fencepost.primitives._async.session import AsyncSession
from fencepost.session._async.grant import AsyncGrant
from fencepost.testing._async.fault import AsyncFaultyEngine
from fencepost.testing.contract._async.place import connect_faulty
from fencepost.testing.contract.site import Site


class AsyncWorkerProgram:
    def __init__(self, session: AsyncSession, site: Site) -> None:
        self._session = session
        self._site = site
        self._grants: dict[str, AsyncGrant] = {}

    async def serve(self) -> None:
        while line := await runtime.in_thread(sys.stdin.readline):
            order = json.loads(line)
            try:
                answer = await getattr(self, order.pop("do"))(**order)
            except FencepostError as error:
                answer = {"error": type(error).__name__, "message": str(error)}
            print(json.dumps(answer), flush=True)

    async def acquire(
        self, name: str, timeout: float | None, *, shared: bool = False, priority: int = 0
    ) -> dict[str, Any]:
        lock = (
            self._session.rwlock(name, priority=priority).read()
            if shared
            else self._session.lock(name, priority=priority)
        )
        grant = self._grants[name] = await lock.acquire(timeout=timeout)
        return {"token": grant.token}

    async def campaign(self, name: str, value: str) -> dict[str, Any]:
        grant = self._grants[name] = await self._session.election(name).campaign(value)
        return {"token": grant.token}

    async def join(self, name: str, data: str) -> dict[str, Any]:
        return {"id": (await self._session.group(name).join(data)).id}

    async def release(self, name: str) -> dict[str, Any]:
        await self._grants.pop(name).release()
        return {}

    async def held(self, name: str) -> dict[str, Any]:
        grant = self._grants[name]
        return {"held": grant.held, "remaining": grant.remaining(), "standing": grant.standing}

    async def ends_at(self, name: str) -> dict[str, Any]:
        """When its lease ends, by the clock that all processes of a host share, unless it is renewed."""
        return {"ends_at": self._grants[name]._keeper.ends_at}

    async def fork(self, name: str) -> dict[str, Any]:
        """What a forked child finds when it uses everything of its parent's."""
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            with open(writing, "w") as report:
                # The loop that this runs in is the parent's.
                json.dump(runtime.run(self._as_child(name)), report)
            os._exit(0)
        os.close(writing)
        with open(reading) as report:
            found: dict[str, Any] = json.load(report)
        os.waitpid(child, 0)
        return found

    async def calls(self) -> dict[str, Any]:
        """What the session has asked of its engine since this was last asked."""
        assert isinstance(self._session.engine, AsyncFaultyEngine)
        calls, self._session.engine.calls = self._session.engine.calls, []
        return {"calls": calls}

    async def fork_and_forget(self) -> dict[str, Any]:
        """A forked child closes and forgets its parent's engine, past the session, which would not let it."""
        assert isinstance(self._session.engine, AsyncFaultyEngine)
        engine = self._session.engine.engine
        child = os.fork()
        if child == 0:
            try:
                await engine.close()
                vars(engine).clear()
                gc.collect()
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        return {}

    async def unused(self) -> dict[str, Any]:
        """What two children, one after the other, do with a session that their parent has made and never used."""
        session, _ = connect_faulty(self._site)

        async def lock() -> bool:
            async with session.lock("unused") as grant:
                return grant.held

        locked = []
        for _ in range(2):
            reading, writing = os.pipe()
            child = os.fork()
            if child == 0:
                try:
                    os.write(writing, b"yes" if runtime.run(lock()) else b"no")
                finally:
                    os._exit(0)
            os.close(writing)
            with open(reading) as report:
                locked.append(report.read() == "yes")
            os.waitpid(child, 0)
        await session.close()
        return {"locked": locked}

    async def _as_child(self, name: str) -> dict[str, Any]:
        grant, session = self._grants[name], self._session
        held = grant.held
        try:
            await grant.release()
            released = "released"
        except FencepostError as error:
            released = type(error).__name__
        same = await session.lock(name).try_acquire()
        async with session.lock("another") as own:
            seen = [each.claim.token for each in (await session.look("another")).holders] == [own.token]
        await session.close()
        # Whatever the child drops, the parent's is not touched.
        del session, self._session, self._grants
        gc.collect()
        return {"held": held, "release": released, "same": same is not None, "another": seen}


async def main(url: str, label: str, ttl: float) -> None:
    # As a user's, but for the patience with a server that is slow to answer: under a short lease it would be short.
    site = Site(url, ttl=ttl)
    session, _ = connect_faulty(site, label=label)
    async with session:
        print(json.dumps({"pid": os.getpid()}), flush=True)
        await AsyncWorkerProgram(session, site).serve()


def start(url: str, label: str, ttl: float) -> None:
    """What a process made by the fork server does."""
    runtime.run(main(url, label, ttl))
