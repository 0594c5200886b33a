"""What keeps asks that arrive late from having an effect."""

from fencepost._runtime.state import StateLock

Key = tuple[bytes, bytes]


class Epoch:
    """A number that every ask bears. The server does nothing for one that bears less than another has borne before.

    Whoever asks again for a request, or gives up what came of it, before the last ask was answered begins a new epoch.
    So whatever of that request is still on its way (at a backend that stalls, in a pooler, in a socket) comes to
    nothing whenever it arrives. Asks of other requests that it overtakes are answered that they are late, and are
    asked again. The server keeps one number per lease, and a request whose asks were answered costs nothing.
    """

    __slots__ = ("_number", "_state", "_unanswered")

    def __init__(self) -> None:
        self._number = 0
        self._unanswered: set[Key] = set()
        self._state = StateLock()

    @property
    def now(self) -> bytes:
        return b"%d" % self._number

    def ask(self, request: Key) -> bytes:
        """For an ask, from now on unanswered: noted before it is sent, so that no interruption comes in between."""
        now = self.after(request)
        self._unanswered.add(request)
        return now

    def after(self, request: Key) -> bytes:
        """For whatever comes after the asks of a request, answered or not."""
        if request in self._unanswered:
            with self._state:
                self._number += 1
        return b"%d" % self._number

    def settled(self, request: Key) -> None:
        """The last ask was answered, or those before it can not have an effect any more."""
        self._unanswered.discard(request)

    def is_late(self, number: int) -> None:
        """The server has seen `number`, of ours or of another engine that asks for the same holder."""
        with self._state:
            self._number = max(self._number, number)
