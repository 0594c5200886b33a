# Generated from src/fencepost/primitives/_async/lock.py by tools/unasync.py. Do not edit: run `make gen`.
"""The lock."""

from fencepost._runtime import threads as runtime
from fencepost.core.claim import Ask
from fencepost.primitives._sync.acquirable import Acquirable
from fencepost.session._sync.grant import Grant
from fencepost.session._sync.presence import Presence
from fencepost.session._sync.pursuit import Denial, obtain


class Lock(Acquirable[Grant]):
    """One name, to be held by one at a time (or, shared, by many readers; or, counted, by so many).

    The grant is the owner, not the thread or task. At any instant two processes may both *believe* to hold the
    lock for a moment (one of them was paused); `grant.token` and a fence at the resource are what protects against
    that.
    """

    def __init__(
        self,
        presence: Presence,
        ask: Ask,
        *,
        timeout: float | None = None,
        priority: int = 0,
        reentrant: bool = False,
    ) -> None:
        super().__init__(presence, (ask,), timeout, priority)
        self._reentrant = reentrant

    @property
    def name(self) -> str:
        return self._asks[0].name

    def __repr__(self) -> str:
        return f"<{type(self).__name__} '{self.name}'>"

    def _take(self, timeout: float | None, taken: list[Grant]) -> Denial | None:
        if not self._reentrant:
            return obtain(self._presence, self._asks, timeout, taken, self._priority)
        flow = runtime.current_flow()
        held = self._presence.reentrance.held(self.name, flow)
        if held is not None:
            depth = held._depth
            try:
                taken.append(held.reenter())
            except BaseException:
                if not taken:
                    # Nobody would give it back once more.
                    held._depth = depth
                raise
            return None
        denial = obtain(self._presence, self._asks, timeout, taken, self._priority)
        if denial is None:
            self._presence.reentrance.enter(taken[0], flow)
        return denial

    def _held(self, taken: list[Grant]) -> Grant:
        return taken[0]
