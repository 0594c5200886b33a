# Generated from src/fencepost/engines/postgresql/advisory/_async/summons.py by tools/unasync.py. Do not edit: run `make gen`.
"""Evictions of what our leases hold: heard at once, and obeyed; the next renewal tells the session."""

from collections.abc import Callable
from typing import TypeAlias

from fencepost._runtime import threads as runtime
from fencepost._runtime.state import StateLock
from fencepost.engines.postgresql._sync.channel import Channel
from fencepost.engines.postgresql._sync.store import Store
from fencepost.engines.postgresql.advisory._sync.desk import Desk
from fencepost.engines.postgresql.advisory.lease import Entry, Lease
from fencepost.engines.postgresql.wire import threads as wire
from fencepost.errors import EngineError

MOST_DIGITS = 19
OurLease: TypeAlias = Lease[wire.Connection]
OurEntry: TypeAlias = Entry[wire.Connection]


class Summons:
    """`letting_go` is the work of giving back what was taken away."""

    def __init__(
        self, store: Store, desk: Desk, letting_go: Callable[[OurLease, OurEntry], runtime.Work[bool]]
    ) -> None:
        self._store = store
        self._desk = desk
        self._letting_go = letting_go
        self._channels: dict[str, Channel] = {}
        # Those who are about to listen again.
        self._resuming: set[str] = set()
        # The tokens that somebody looks for, and whether there is news of them that nobody has looked at yet.
        self._told: dict[int, bool] = {}
        self._state = StateLock()

    def listen(self, lease: OurLease) -> None:
        """Until `hush`."""
        holder_id = lease.holder.id
        channel = self._channels.get(holder_id)
        if channel is None:
            channel = self._channels[holder_id] = Channel(
                self._store, lambda token: self._obey(lease, token), name=f"fencepost_{holder_id}", unattended=True
            )
        channel.listen()
        if lease.is_over():
            self.hush(holder_id)

    def resume(self, lease: OurLease) -> None:
        """Listen again if the connection for that was lost: beside the caller, whose locks are fine without it."""
        holder_id = lease.holder.id
        channel = self._channels.get(holder_id)
        if holder_id in self._resuming or (channel is not None and channel.ear.is_open):
            return
        self._resuming.add(holder_id)

        def listen() -> None:
            try:
                self.listen(lease)
            except EngineError:
                # Until the next renewal, whoever evicts ends the connection.
                pass
            finally:
                self._resuming.discard(holder_id)

        try:
            runtime.spawn(listen, name="fencepost-summons")
        except RuntimeError:
            # There is no room for a thread now. The next renewal tries again.
            self._resuming.discard(holder_id)

    def hush(self, holder_id: str) -> None:
        channel = self._channels.pop(holder_id, None)
        if channel is not None:
            channel.close()

    def close(self) -> None:
        for holder_id in list(self._channels):
            self.hush(holder_id)

    def _obey(self, lease: OurLease, message: bytes) -> None:
        if not message.isdigit() or len(message) > MOST_DIGITS:
            # Anybody may send messages: one that makes no sense is none.
            return
        token = int(message)
        if _entry_of(lease, token) is None:
            return
        with self._state:
            is_looked_for = token in self._told
            self._told[token] = True
        if is_looked_for:
            # However many say so: one look at a time, and one more after the last of them.
            return

        def look() -> None:
            try:
                while self._has_news(token):
                    self._look(lease, token)
            except BaseException:
                self._told.pop(token, None)
                raise

        try:
            runtime.spawn(look, name="fencepost-eviction")
        except RuntimeError:
            # There is no room for a thread now: whoever evicts ends the connection.
            self._told.pop(token, None)

    def _has_news(self, token: int) -> bool:
        """Whether it was told since this was asked last. If not, nobody looks for it any more."""
        with self._state:
            has_news = self._told.pop(token, False)
            if has_news:
                self._told[token] = False
        return has_news

    def _look(self, lease: OurLease, token: int) -> None:
        entry = _entry_of(lease, token)
        if entry is None:
            return
        try:
            by = self._desk.who_evicted(token)
            if by is None or not lease.has(entry):
                # Anybody may send messages, and only who may write here evicts; or it was given back meanwhile.
                return
            lease.evicted[token] = f"evicted by {by}"
            self._letting_go(lease, entry)()
        except EngineError:
            # Then whoever evicts ends the connection.
            pass


def _entry_of(lease: OurLease, token: int) -> OurEntry | None:
    return next((each for each in list(lease.entries.values()) if each.token == token), None)
