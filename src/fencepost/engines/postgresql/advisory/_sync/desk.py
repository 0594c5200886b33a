# Generated from src/fencepost/engines/postgresql/advisory/_async/desk.py by tools/unasync.py. Do not edit: run `make gen`.
"""Who has which lock at the server, and taking it from them: statements that belong to no lease."""

from collections.abc import Mapping

from fencepost._runtime import threads as runtime
from fencepost.contract.answer import Snapshot
from fencepost.core.claim import Claim
from fencepost.core.holder import Holder
from fencepost.engines.postgresql._sync.store import Store
from fencepost.engines.postgresql.advisory.sight import STRANGER, Lock, locks_of, snapshot_of
from fencepost.engines.postgresql.query import rows, text, texts, words
from fencepost.engines.postgresql.sql import statements
from fencepost.errors import EngineError

AUDIT_LENGTH = 1000
# How long a holder has to hear of its eviction before its connection is ended, with all that is on it.
LEAST_NOTICE = 1.0


class Desk:
    def __init__(self, store: Store, prefix: str, clock: runtime.Clock, patience: float) -> None:
        self._store = store
        self._prefix = prefix
        self._now = clock.now
        self._patience = patience
        self._sql = statements("locks", store.schema)

    def key(self, name: str) -> bytes:
        return (self._prefix + name).encode()

    def look(self, name: str, own: Mapping[int, tuple[Claim, float, float]]) -> Snapshot:
        """`own`: by pid, our own claims, for how long they have stood, and what is left of their lease."""
        evictions = rows(self._store.call(self._sql["evictions"], self.key(name)))
        return snapshot_of(name, self._locks(name), evictions, own)

    def names(self, prefix: str) -> set[str]:
        """Of locks that were held over a renewal."""
        found = rows(self._store.call(self._sql["names"], self.key(prefix)))
        return {name[len(self._prefix) :] for name in texts(found)}

    def evict(self, name: str, by: str) -> tuple[Claim, ...]:
        """Ask every holder to let go; end the connection of one that does not."""
        taken = [lock for lock in self._locks(name) if lock.granted]
        for lock in taken:
            holder = lock.holder or Holder("", STRANGER)
            what = (self.key(name), b"%d" % lock.token, holder.id.encode(), text(holder.label), text(by))
            self._store.call(self._sql["expel"], *what, b"%d" % AUDIT_LENGTH)
        until = self._now() + max(self._patience, LEAST_NOTICE)
        for lock in taken:
            whom = (self.key(name), b"%d" % lock.pid)
            # A stranger does not hear us, and is ended at once.
            while lock.holder is not None and self._now() < until:
                if self._store.value(self._sql["see off"], *whom, b"%f" % (self._patience / 3)) == b"t":
                    break
            else:
                self._store.call(self._sql["throw out"], *whom)
        return tuple(lock.standing(name).claim for lock in taken)

    def who_evicted(self, token: int) -> str | None:
        """None if there is no record of it."""
        by = self._store.value(self._sql["evicted"], b"%d" % token)
        return None if by is None else words(by)

    def cancel(self, pid: int) -> None:
        """End the statement that a connection is in, if it can be reached."""
        try:
            self._store.call(self._sql["cancel"], b"%d" % pid)
        except EngineError:
            # Without that the connection is closed, and the server notices by itself.
            pass

    def _locks(self, name: str) -> list[Lock]:
        return locks_of(rows(self._store.call(self._sql["locks"], self.key(name))))
