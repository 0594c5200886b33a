# Generated from src/fencepost/session/_async/settlement.py by tools/unasync.py. Do not edit: run `make gen`.
"""What was given up here while the engine did not say that it heard: asked again until it does."""

from fencepost.contract._sync.engine import Engine
from fencepost.core.claim import Claim, Request
from fencepost.errors import EngineError

Key = tuple[int, str]


class Settlement:
    """The open ends of one lease. They end with the lease at the latest."""

    __slots__ = ("_busy", "_engine", "_open")

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._open: dict[Key, Request | Claim] = {}
        # Those of them that somebody asks for at this moment: nobody else is to do so beside.
        self._busy: set[Key] = set()

    def settle(self, what: Request | Claim) -> EngineError | None:
        """Make sure that nothing of `what` is held or queued; the error, if that has to wait for `settle_all`."""
        key = _key(what)
        self._busy.add(key)
        try:
            # Noted before asking, so that an interruption at any point leaves it noted.
            self._open[key] = what
            error = self._give_up(what)
            if error is None:
                self._open.pop(key, None)
        finally:
            self._busy.discard(key)
        return error

    def settle_all(self) -> None:
        for what in list(self._open.values()):
            if _key(what) not in self._busy:
                self.settle(what)

    def _give_up(self, what: Request | Claim) -> EngineError | None:
        try:
            if isinstance(what, Claim):
                self._engine.release(what)
            else:
                self._engine.withdraw(what)
        except EngineError as error:
            return error
        return None


def _key(what: Request | Claim) -> Key:
    return (what.serial, what.name if isinstance(what, Claim) else "")
