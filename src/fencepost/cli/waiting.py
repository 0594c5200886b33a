"""What is said while the lock is waited for."""

import shutil
import sys
import threading
import time
from types import TracebackType
from typing import TYPE_CHECKING, Self

from fencepost.cli import say
from fencepost.errors import FencepostError, printable

if TYPE_CHECKING:
    from fencepost.contract.answer import Snapshot
    from fencepost.primitives._sync.session import Session

PATIENCE = 1.0
CLEAR_LINE = "\r\x1b[K"


class Waiting:
    """While entered, and after a second: who is in the way. Kept up to date on a terminal, said once elsewhere."""

    def __init__(self, session: "Session", name: str) -> None:
        self._session = session
        self._name = name
        self._over = threading.Event()
        self._live = sys.stderr.isatty()
        self._shown = False
        self._thread = threading.Thread(target=self._tell, name="fencepost-waiting", daemon=True)

    def __enter__(self) -> Self:
        self._started_at = time.monotonic()
        if not say.Voice.quiet:
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        if self._thread.ident is not None:
            # Not for long: an engine that does not answer must not keep the command from starting.
            self._thread.join(0.2)
            if self._live and self._shown:
                sys.stderr.write(CLEAR_LINE)
                sys.stderr.flush()

    def _tell(self) -> None:
        while not self._over.wait(PATIENCE):
            try:
                snapshot = self._session.look(self._name)
            except FencepostError:
                continue
            if self._over.is_set():
                return
            line = progress(snapshot, time.monotonic() - self._started_at)
            if not self._live:
                say.note(line)
                return
            self._shown = True
            # A line that wraps could not be cleared.
            text = f"fencepost: {printable(line)}"[: shutil.get_terminal_size().columns - 1]
            sys.stderr.write(CLEAR_LINE + text)
            sys.stderr.flush()


def progress(snapshot: "Snapshot", waited: float) -> str:
    """One line: what is waited for, who has it, for how long."""
    holders = [each.claim for each in snapshot.holders]
    if not holders:
        return f"waiting for '{snapshot.name}', {waited:.0f} s"
    first = f"held by {holders[0].holder} (token {holders[0].token})"
    more = f" and {len(holders) - 1} more" if len(holders) > 1 else ""
    return f"waiting for '{snapshot.name}': {first}{more}, {waited:.0f} s"
