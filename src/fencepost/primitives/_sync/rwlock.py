# Generated from src/fencepost/primitives/_async/rwlock.py by tools/unasync.py. Do not edit: run `make gen`.
"""Read and write locks: many readers, or one writer."""

from fencepost.core.claim import Ask, Mode
from fencepost.core.duration import check_timeout
from fencepost.core.shown import shown
from fencepost.primitives._sync.lock import Lock
from fencepost.session._sync.grant import Grant
from fencepost.session._sync.presence import Presence


class ReadWriteLock:
    """Readers share the name, a writer has it alone. Both are served in order of arrival, so neither starves, unless
    a priority says otherwise.
    """

    def __init__(
        self, presence: Presence, name: str, *, timeout: float | None = None, priority: int = 0, note: str = ""
    ) -> None:
        self._presence = presence
        self._name = name
        self._timeout = check_timeout(timeout)
        self._priority = priority
        self._note = note

    def read(self) -> Lock:
        """The lock to hold while reading."""
        return self._lock(Mode.SHARED)

    def write(self) -> Lock:
        """The lock to hold while writing."""
        return self._lock(Mode.EXCLUSIVE)

    def downgrade(self, grant: Grant) -> None:
        """Go on as a reader: `grant` is of `write()`, keeps its token, and from now on others may read beside it.

        Nobody writes in between. There is no way back up: two readers that both wanted it would wait for each other.
        """
        if not isinstance(grant, Grant):
            raise TypeError(f"what goes on as a reader is a grant of write(), not {type(grant).__name__}")
        if grant.name != self._name:
            raise ValueError(f"this grant is of {shown(grant.name)}, not of {shown(self._name)}")
        grant.share()

    def _lock(self, mode: Mode) -> Lock:
        ask = Ask(self._name, mode, note=self._note)
        return Lock(self._presence, ask, timeout=self._timeout, priority=self._priority)
