# Written by hand; the blocking twin under _sync is generated from it.
"""Work that is done once for a key, however often and by however many it is asked for."""

import inspect
import json
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

from fencepost._runtime import aio as runtime
from fencepost.core.malformed import Malformed, read_json
from fencepost.errors import Lost, Refused
from fencepost.primitives._async.lock import AsyncLock

if TYPE_CHECKING:
    from fencepost.fences.result._async.store import AsyncResults

T = TypeVar("T")
Function = TypeVar("Function", bound=Callable[..., Any])


class AsyncOnce:
    """An idempotency key: the first to come does the work, all others get its result.

    Whoever comes while the work runs waits for its result. Work that raises leaves nothing behind, and the next one
    tries again. A worker that was overtaken (its lock was lost, and another has begun) can not commit: `Stale`. A
    result is what JSON can hold, and everybody gets it as JSON has it, the first one too.

    Limits. Work that is interrupted half-way, or overtaken, may run again: what it does outside of the store must bear
    that, or be fenced, or pass the key on (`Idempotency-Key`). With `SqlResults(connection, together=True)` work
    that writes to the same database is undone instead.
    """

    def __init__(
        self, key: str, store: "AsyncResults", lock: Callable[[str], AsyncLock], *, expires_in: float | None
    ) -> None:
        self.key = key
        self._store = store
        self._lock = lock
        self._expires_in = expires_in

    async def run(self, work: "runtime.Work[T]") -> T:
        """The result for the key: of `work`, if nobody has done it yet."""
        name = f"once/{self.key}"
        found: T = _result(name, await self._text(name, work))
        return found

    def __call__(self, function: Function) -> Function:
        """As a decorator: the key names arguments in braces, such as `charge/{order_id}`."""
        signature = inspect.signature(function)

        @wraps(function)
        async def once(*args: Any, **kwargs: Any) -> Any:
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            name = f"once/{self.key.format(**bound.arguments)}"
            return _result(name, await self._text(name, lambda: function(*args, **kwargs)))

        return once  # type: ignore[return-value]

    async def _text(self, name: str, work: "runtime.Work[Any]") -> str:
        found = await self._store.find(name)
        if found is not None:
            return found
        done: list[str] = []
        try:
            async with self._lock(name) as grant:
                found = await self._store.claim(name, grant)
                if found is not None:
                    return found
                async with self._store.work():
                    text = json.dumps(await work())
                    await self._store.keep(name, grant, text, self._expires_in)
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
