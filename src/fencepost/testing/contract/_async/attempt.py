# Written by hand; the blocking twin under _sync is generated from it.
"""Something tried in the background, and what came of it."""

from typing import Any, Generic, TypeVar

from fencepost._runtime import aio as runtime

T = TypeVar("T")
# Many times what anything takes on a busy machine, and less than a third of a lease that lasts.
WITHIN = 30.0


class AsyncAttempt(Generic[T]):
    def __init__(self, work: runtime.Work[T]) -> None:
        self._work = work
        self._result: T | None = None
        self._error: BaseException | None = None
        self.ended = runtime.Event()
        self._worker = runtime.spawn(self._run, name="fencepost-attempt")

    async def _run(self) -> None:
        try:
            self._result = await self._work()
        except BaseException as error:
            self._error = error
        finally:
            self.ended.set()

    def cancel(self) -> None:
        self._worker.cancel()

    async def outcome(self, within: float = WITHIN) -> T:
        """The result, or what was raised."""
        if not await self.ended.wait(within):
            raise AssertionError(f"still under way after {within:g} s")
        if self._error is not None:
            raise self._error
        result: Any = self._result
        return result  # type: ignore[no-any-return]


async def until(condition: runtime.Work[bool], within: float = WITHIN) -> None:
    """Wait for a condition that nothing announces, such as what another process has done."""
    clock = runtime.BootClock()
    deadline = clock.now() + within
    while not await condition():
        if clock.now() > deadline:
            raise AssertionError(f"not so after {within:g} s")
        await runtime.sleep(0.002)
