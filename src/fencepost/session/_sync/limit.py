# Generated from src/fencepost/session/_async/limit.py by tools/unasync.py. Do not edit: run `make gen`.
"""How long calls of an engine may take, whatever it does."""

from types import TracebackType

from fencepost._runtime import threads as runtime
from fencepost.errors import EngineError, Unavailable
from fencepost.session.trust import verdict


class Limit(runtime.Limit):
    """No answer by then is no answer."""

    __slots__ = ()
    late = Unavailable


class Call(Limit):
    """A call that leaves nothing open, whatever comes of it."""

    __slots__ = ()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        super().__exit__(kind, error, trace)
        if isinstance(error, EngineError) and (told := verdict(error)) is not error:
            raise told from told.__cause__
