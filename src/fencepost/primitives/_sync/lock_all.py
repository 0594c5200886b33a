# Generated from src/fencepost/primitives/_async/lock_all.py by tools/unasync.py. Do not edit: run `make gen`.
"""Several locks at once: all or none, and no deadlock whatever the order in which callers name them."""

from fencepost._runtime import threads as runtime
from fencepost.core.claim import Ask
from fencepost.core.deadline import Deadline
from fencepost.primitives._sync.acquirable import Acquirable, give_up
from fencepost.primitives._sync.grants import Grants
from fencepost.session._sync.grant import Grant
from fencepost.session._sync.presence import Presence
from fencepost.session._sync.pursuit import Denial, obtain


class LockAll(Acquirable[Grants]):
    """Where the engine can, all names are granted in one atomic step: whoever waits holds none of them meanwhile.

    Elsewhere they are taken one after the other, in the same order by everybody.
    """

    def __init__(
        self, presence: Presence, asks: tuple[Ask, ...], *, timeout: float | None = None, priority: int = 0
    ) -> None:
        super().__init__(presence, tuple(sorted(asks)), timeout, priority)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(ask.name for ask in self._asks)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {', '.join(repr(name) for name in self.names)}>"

    def _take(self, timeout: float | None, taken: list[Grant]) -> Denial | None:
        if self._presence.traits.together:
            return obtain(self._presence, self._asks, timeout, taken, self._priority)
        return self._take_in_order(timeout, taken)

    def _take_in_order(self, timeout: float | None, taken: list[Grant]) -> Denial | None:
        now = self._presence.clock.now
        started_at = now()
        deadline = Deadline.after(started_at, timeout)
        back_by = self._presence.limits.back_by(started_at, timeout)
        try:
            for ask in self._asks:
                left = None if timeout is None else deadline.left(now())
                denial = obtain(self._presence, (ask,), left, taken, self._priority, back_by=back_by)
                if denial is not None:
                    runtime.shielded(give_up(self._presence, taken, None, back_by))
                    taken.clear()
                    return denial._replace(waited=now() - started_at)
            return None
        except BaseException as error:
            runtime.shielded(give_up(self._presence, taken, error, back_by))
            raise

    def _held(self, taken: list[Grant]) -> Grants:
        return Grants(taken)
