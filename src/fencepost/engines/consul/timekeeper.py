"""The server's clock, as its answers show it: only for what operators see, never for who holds what."""

from email.utils import parsedate_to_datetime

from fencepost._runtime.clock import boottime
from fencepost.core.malformed import STUMBLES


class Timekeeper:
    """Each answer carries the server's time in whole seconds; between answers our own clock counts on."""

    __slots__ = ("_date", "_heard_at", "_seen", "_time")

    def __init__(self) -> None:
        self._date = b""
        self._heard_at = 0.0
        self._seen = b""
        self._time = 0.0

    def hear(self, date: bytes) -> None:
        # Only the first answer of each second: the sooner after its beginning, the better.
        if date and date != self._date:
            self._date = date
            self._heard_at = boottime()

    def now(self) -> float:
        if not self._date:
            return 0.0
        if self._date != self._seen:
            self._seen = self._date
            try:
                self._time = parsedate_to_datetime(self._date.decode()).timestamp()
            except STUMBLES:
                # No time at all: only people would have seen it.
                self._time = 0.0
        return self._time + boottime() - self._heard_at
