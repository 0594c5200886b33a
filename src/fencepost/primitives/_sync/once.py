# Generated from src/fencepost/primitives/_async/once.py by tools/unasync.py. Do not edit: run `make gen`.
"""Work that is done once for a key, however often and by however many it is asked for."""

import inspect
import json
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

from fencepost._runtime import threads as runtime
from fencepost.core.malformed import Malformed, read_json
from fencepost.errors import Lost, Refused
from fencepost.primitives._sync.lock import Lock

if TYPE_CHECKING:
    from fencepost.fences.result._sync.store import Results

T = TypeVar("T")
Function = TypeVar("Function", bound=Callable[..., Any])


class Once:
    """An idempotency key: the first to come does the work, all others get its result.

    Whoever comes while the work runs waits for its result. Work that raises leaves nothing behind, and the next one
    tries again. A worker that was overtaken (its lock was lost, and another has begun) can not commit: `Stale`. A
    result is what JSON can hold, and everybody gets it as JSON has it, the first one too.

    Limits. Work that is interrupted half-way, or overtaken, may run again: what it does outside of the store must bear
    that, or be fenced, or pass the key on (`Idempotency-Key`). With `SqlResults(connection, together=True)` work
    that writes to the same database is undone instead.
    """

    def __init__(
        self, key: str, store: "Results", lock: Callable[[str], Lock], *, expires_in: float | None
    ) -> None:
        self.key = key
        self._store = store
        self._lock = lock
        self._expires_in = expires_in

    def run(self, work: "runtime.Work[T]") -> T:
        """The result for the key: of `work`, if nobody has done it yet."""
        name = f"once/{self.key}"
        found: T = _result(name, self._text(name, work))
        return found

    def __call__(self, function: Function) -> Function:
        """As a decorator: the key names arguments in braces, such as `charge/{order_id}`."""
        signature = inspect.signature(function)

        @wraps(function)
        def once(*args: Any, **kwargs: Any) -> Any:
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            name = f"once/{self.key.format(**bound.arguments)}"
            return _result(name, self._text(name, lambda: function(*args, **kwargs)))

        return once  # type: ignore[return-value]

    def _text(self, name: str, work: "runtime.Work[Any]") -> str:
        found = self._store.find(name)
        if found is not None:
            return found
        done: list[str] = []
        try:
            with self._lock(name) as grant:
                found = self._store.claim(name, grant)
                if found is not None:
                    return found
                with self._store.work():
                    text = json.dumps(work())
                    self._store.keep(name, grant, text, self._expires_in)
                done.append(text)
        except Lost:
            # The store is the judge: it took the result, so nobody newer had come.
            if not done:
                raise
        return done[0]


def _result(name: str, text: str) -> Any:
    try:
        return read_json(text)
    except (Malformed, TypeError):
        raise Refused(f"what is kept as the result of '{name}' is none: somebody else has written it") from None
