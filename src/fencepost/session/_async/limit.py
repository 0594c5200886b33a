# Written by hand; the blocking twin under _sync is generated from it.
"""How long calls of an engine may take, whatever it does."""

from types import TracebackType

from fencepost._runtime import aio as runtime
from fencepost.errors import EngineError, Unavailable
from fencepost.session.trust import verdict


class AsyncLimit(runtime.Limit):
    """No answer by then is no answer."""

    __slots__ = ()
    late = Unavailable


class AsyncCall(AsyncLimit):
    """A call that leaves nothing open, whatever comes of it."""

    __slots__ = ()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await super().__aexit__(kind, error, trace)
        if isinstance(error, EngineError) and (told := verdict(error)) is not error:
            raise told from told.__cause__
