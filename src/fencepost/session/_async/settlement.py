# Written by hand; the blocking twin under _sync is generated from it.
"""What was given up here while the engine did not say that it heard: asked again until it does."""

from fencepost.contract._async.engine import AsyncEngine
from fencepost.core.claim import Claim, Request
from fencepost.errors import EngineError

Key = tuple[int, str]


class AsyncSettlement:
    """The open ends of one lease. They end with the lease at the latest."""

    __slots__ = ("_busy", "_engine", "_open")

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine
        self._open: dict[Key, Request | Claim] = {}
        # Those of them that somebody asks for at this moment: nobody else is to do so beside.
        self._busy: set[Key] = set()

    async def settle(self, what: Request | Claim) -> EngineError | None:
        """Make sure that nothing of `what` is held or queued; the error, if that has to wait for `settle_all`."""
        key = _key(what)
        self._busy.add(key)
        try:
            # Noted before asking, so that an interruption at any point leaves it noted.
            self._open[key] = what
            error = await self._give_up(what)
            if error is None:
                self._open.pop(key, None)
        finally:
            self._busy.discard(key)
        return error

    async def settle_all(self) -> None:
        for what in list(self._open.values()):
            if _key(what) not in self._busy:
                await self.settle(what)

    async def _give_up(self, what: Request | Claim) -> EngineError | None:
        try:
            if isinstance(what, Claim):
                await self._engine.release(what)
            else:
                await self._engine.withdraw(what)
        except EngineError as error:
            return error
        return None


def _key(what: Request | Claim) -> Key:
    return (what.serial, what.name if isinstance(what, Claim) else "")
