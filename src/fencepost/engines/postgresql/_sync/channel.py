# Generated from src/fencepost/engines/postgresql/_async/channel.py by tools/unasync.py. Do not edit: run `make gen`.
"""A channel of our own at the server: what is told on it is heard as soon as somebody wants to."""

import secrets
from collections.abc import Callable

from fencepost._runtime import threads as runtime
from fencepost.engines.postgresql._sync.store import Store
from fencepost.engines.postgresql.address import Address
from fencepost.engines.postgresql.sql import statements
from fencepost.engines.postgresql.trouble import ServerError, explain
from fencepost.engines.postgresql.wire import threads as wire
from fencepost.errors import Unavailable

# How long a message is on its way at most, in seconds, to where it is said that it can be heard.
HEARD_WITHIN = 0.5


class Channel:
    """`direct` is a way past a pooler, which LISTEN can not pass. `unattended`: heard also while nobody waits."""

    def __init__(
        self,
        store: Store,
        hear: Callable[[bytes], object],
        *,
        name: str | None = None,
        direct: Address | None = None,
        unattended: bool = False,
    ) -> None:
        self.name = name or f"fencepost_{secrets.token_hex(8)}"
        self.ear = wire.Ear(hear)
        self._store = store
        self._tell = statements("statements", store.schema)["tell"]
        self._direct = direct
        self._unattended = unattended
        self._opening = runtime.Turn(Unavailable)
        self._closed = False

    def listen(self) -> None:
        """From now on, on a connection that nobody else reads from; again if that was lost."""
        with self._opening:
            if self.ear.is_open:
                return
            connection = self._dial()
            if connection is None:
                self.ear.open(None)
                return
            try:
                connection.script(f"LISTEN {self.name}")
                if self._closed:
                    raise Unavailable(f"the connection to postgresql at {connection.address} was closed here")
                # The way that we were told may end in another pooler, or in another database.
                heard = self._direct is None or connection.hears(self._speak, HEARD_WITHIN)
            except ServerError as error:
                connection.close()
                raise explain(error, connection.address) from error
            except BaseException:
                connection.close()
                raise
            if not heard:
                connection.close()
                self.ear.open(None)
                return
            self.ear.open(connection, unattended=self._unattended)

    def _speak(self) -> None:
        """Say nothing, where everything else is said."""
        self._store.call(self._tell, self.name.encode())

    def _dial(self) -> wire.Connection | None:
        """None behind a pooler."""
        if self._direct is not None:
            return self._store.dial(self._direct)
        connection = self._store.connect()
        if not connection.pooled:
            return connection
        connection.close()
        return None

    def close(self) -> None:
        self._closed = True
        self.ear.close()
