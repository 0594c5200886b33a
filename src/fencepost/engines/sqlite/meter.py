"""Rate limits on the host's clock that counts from boot. Everything here happens inside a transaction."""

from collections.abc import Callable

from fencepost.core.rate import Rate, taken
from fencepost.engines.sqlite.sql import STATEMENTS
from fencepost.engines.sqlite.store import Store


class Meters:
    def __init__(self, store: Store, now: Callable[[], float]) -> None:
        self._store = store
        self._now = now

    def take(self, key: str, rate: Rate, weight: int) -> float:
        now = self._now()
        rows = self._store.execute(STATEMENTS["busy_until"], (key,)).fetchall()
        # Whatever else a stranger has written there keeps nothing busy.
        before = rows[0][0] if rows and type(rows[0][0]) is float else 0.0
        busy_until, wait = taken(before, now, rate, weight)
        if not wait:
            self._store.execute(STATEMENTS["take"], (key, busy_until))
            # A few of those that are idle, so that names used once do not pile up.
            self._store.execute(STATEMENTS["forget_idle"], (now,))
        return wait
