# Generated from src/fencepost/primitives/_async/once.py by tools/unasync.py. Do not edit: run `make gen`.
"""Work that is done once for a key, however often and by however many it is asked for."""

import inspect
import json
import re
from collections.abc import Callable, Mapping
from functools import wraps
from string import Formatter
from typing import TYPE_CHECKING, Any, TypeVar

from fencepost._runtime import threads as runtime
from fencepost.core.malformed import Malformed, read_json
from fencepost.core.name import check_name, shortened
from fencepost.core.shown import described, shown
from fencepost.errors import Lost, Refused, printable
from fencepost.primitives._sync.lock import Lock

if TYPE_CHECKING:
    from fencepost.fences.result._sync.store import Results

# What stands before the key in the name of its lock and its result.
BEFORE = "once/"
# Behind the name of an argument a field may go on with an attribute or an item of it.
FIRST = re.compile(r"[.\[]")
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
        if not callable(work):
            raise TypeError(f"work is a function that is called without arguments, not {type(work).__name__}")
        name = f"{BEFORE}{shortened(self.key)}"
        found: T = _result(name, self._text(name, work))
        return found

    def __call__(self, function: Function) -> Function:
        """As a decorator: the key names arguments in braces, such as `charge/{order_id}`."""
        if not callable(function):
            raise TypeError(f"what is done once is a function, not {type(function).__name__}")
        signature = inspect.signature(function)
        _check_fields(self.key, signature)

        @wraps(function)
        def once(*args: Any, **kwargs: Any) -> Any:
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            name = f"{BEFORE}{shortened(_filled_in(self.key, bound.arguments))}"
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
                if found is None:
                    with self._store.work():
                        found = _written(name, work())
                        self._store.keep(name, grant, found, self._expires_in)
                done.append(found)
        except Lost:
            # The store is the judge: it has the result, or took it, so nobody newer had come.
            if not done:
                raise
        return done[0]


def check_key(key: str) -> str:
    return check_name(key, "the key of once-only work")


def check_store(store: object) -> None:
    """That results can be kept there: found out at the end of the work, it would have been done in vain."""
    if not all(callable(getattr(store, method, None)) for method in ("find", "claim", "keep", "work")):
        raise TypeError(f"results are kept in a store of fencepost.fences.result, not in {type(store).__name__}")


def _check_fields(key: str, signature: inspect.Signature) -> None:
    """That a key of a decorator names arguments, and nothing else."""
    try:
        fields = [field for _, field, _, _ in Formatter().parse(key) if field is not None]
    except ValueError as error:
        raise ValueError(f"the key {shown(key)} can not be filled in: {error}") from None
    for field in fields:
        argument = FIRST.split(field, maxsplit=1)[0]
        if argument not in signature.parameters:
            raise ValueError(f"the key {shown(key)} names {shown(argument)}, which is no argument of the function")


def _filled_in(key: str, arguments: Mapping[str, object]) -> str:
    try:
        filled = key.format(**arguments)
    except Exception as error:
        why = printable(described(error))
        raise ValueError(f"the key {shown(key)} can not be filled in with these arguments: {why}") from error
    return check_key(filled)


def _written(name: str, result: object) -> str:
    try:
        return json.dumps(result)
    except (TypeError, ValueError, RecursionError) as error:
        why = "it is nested too deeply" if isinstance(error, RecursionError) else error
        raise TypeError(f"the result of {shown(name)} is not what JSON can hold: {why}") from error


def _result(name: str, text: str) -> Any:
    try:
        return read_json(text)
    except (Malformed, TypeError):
        raise Refused(f"what is kept as the result of '{name}' is none: somebody else has written it") from None
