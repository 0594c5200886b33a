"""Whether a connection on which nobody owes an answer is alive still: a half-open one looks like one without news."""

from fencepost.engines.redis.resp import pack

# While it listens, a server answers to this and little else.
PING = pack("PING")
# Nobody waits for that word: a server may take its time for it, however little it has for a call.
LEAST = 1.0


class Pulse:
    """After silence for as long as `patience`, the other side is asked for a word, and given up after as much more."""

    __slots__ = ("_asked_at", "_heard_at", "patience")

    def __init__(self, patience: float, now: float) -> None:
        self.patience = max(patience, LEAST)
        self._heard_at = now
        self._asked_at: float | None = None

    def hear(self, now: float) -> None:
        self._heard_at = now
        self._asked_at = None

    def asks(self, now: float) -> bool:
        """Whether to ask now, if nothing is there to be read. TimeoutError if that was done, and in vain."""
        if self._asked_at is not None:
            if now - self._asked_at >= self.patience:
                raise TimeoutError
            return False
        if now - self._heard_at < self.patience:
            return False
        self._asked_at = now
        return True
