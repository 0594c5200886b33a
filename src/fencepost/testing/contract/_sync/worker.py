# Generated from src/fencepost/testing/contract/_async/worker.py by tools/unasync.py. Do not edit: run `make gen`.
"""A real process with a session of its own, told what to do line by line: to be stopped, forked and killed."""

import gc
import json
import os
import sys
from typing import Any

from fencepost._runtime import threads as runtime
from fencepost.errors import FencepostError
from fencepost.primitives._sync.session import Session
from fencepost.session._sync.grant import Grant
from fencepost.testing._sync.fault import FaultyEngine
from fencepost.testing.contract._sync.place import connect_faulty
from fencepost.testing.contract.site import Site


class WorkerProgram:
    def __init__(self, session: Session, site: Site) -> None:
        self._session = session
        self._site = site
        self._grants: dict[str, Grant] = {}

    def serve(self) -> None:
        while line := runtime.in_thread(sys.stdin.readline):
            order = json.loads(line)
            try:
                answer = getattr(self, order.pop("do"))(**order)
            except FencepostError as error:
                answer = {"error": type(error).__name__, "message": str(error)}
            print(json.dumps(answer), flush=True)

    def acquire(
        self, name: str, timeout: float | None, *, shared: bool = False, priority: int = 0
    ) -> dict[str, Any]:
        lock = (
            self._session.rwlock(name, priority=priority).read()
            if shared
            else self._session.lock(name, priority=priority)
        )
        grant = self._grants[name] = lock.acquire(timeout=timeout)
        return {"token": grant.token}

    def campaign(self, name: str, value: str) -> dict[str, Any]:
        grant = self._grants[name] = self._session.election(name).campaign(value)
        return {"token": grant.token}

    def join(self, name: str, data: str) -> dict[str, Any]:
        return {"id": (self._session.group(name).join(data)).id}

    def release(self, name: str) -> dict[str, Any]:
        self._grants.pop(name).release()
        return {}

    def held(self, name: str) -> dict[str, Any]:
        grant = self._grants[name]
        return {"held": grant.held, "remaining": grant.remaining(), "standing": grant.standing}

    def ends_at(self, name: str) -> dict[str, Any]:
        """When its lease ends, by the clock that all processes of a host share, unless it is renewed."""
        return {"ends_at": self._grants[name]._keeper.ends_at}

    def fork(self, name: str) -> dict[str, Any]:
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

    def calls(self) -> dict[str, Any]:
        """What the session has asked of its engine since this was last asked."""
        assert isinstance(self._session.engine, FaultyEngine)
        calls, self._session.engine.calls = self._session.engine.calls, []
        return {"calls": calls}

    def fork_and_forget(self) -> dict[str, Any]:
        """A forked child closes and forgets its parent's engine, past the session, which would not let it."""
        assert isinstance(self._session.engine, FaultyEngine)
        engine = self._session.engine.engine
        child = os.fork()
        if child == 0:
            try:
                engine.close()
                vars(engine).clear()
                gc.collect()
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        return {}

    def unused(self) -> dict[str, Any]:
        """What two children, one after the other, do with a session that their parent has made and never used."""
        session, _ = connect_faulty(self._site)

        def lock() -> bool:
            with session.lock("unused") as grant:
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
        session.close()
        return {"locked": locked}

    def _as_child(self, name: str) -> dict[str, Any]:
        grant, session = self._grants[name], self._session
        held = grant.held
        try:
            grant.release()
            released = "released"
        except FencepostError as error:
            released = type(error).__name__
        same = session.lock(name).try_acquire()
        with session.lock("another") as own:
            seen = [each.claim.token for each in (session.look("another")).holders] == [own.token]
        session.close()
        # Whatever the child drops, the parent's is not touched.
        del session, self._session, self._grants
        gc.collect()
        return {"held": held, "release": released, "same": same is not None, "another": seen}


def main(url: str, label: str, ttl: float) -> None:
    # As a user's, but for the patience with a server that is slow to answer: under a short lease it would be short.
    site = Site(url, ttl=ttl)
    session, _ = connect_faulty(site, label=label)
    with session:
        print(json.dumps({"pid": os.getpid()}), flush=True)
        WorkerProgram(session, site).serve()


def start(url: str, label: str, ttl: float) -> None:
    """What a process made by the fork server does."""
    runtime.run(main(url, label, ttl))
