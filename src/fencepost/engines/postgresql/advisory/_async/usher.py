# Written by hand; the blocking twin under _sync is generated from it.
"""Makes the connections of a lease, and runs statements on them."""

from psycopg import pq

from fencepost.core.holder import Holder
from fencepost.engines.postgresql._async.store import AsyncStore
from fencepost.engines.postgresql.query import text
from fencepost.engines.postgresql.sql import statements
from fencepost.engines.postgresql.trouble import ServerError, explain
from fencepost.engines.postgresql.wire import aio as wire
from fencepost.errors import Refused


class AsyncUsher:
    def __init__(self, store: AsyncStore) -> None:
        self._store = store
        self._sql = statements("locks", store.schema)

    async def connect(self, holder: Holder, ttl: float) -> wire.Connection:
        """A connection that the server ends, with all that is locked on it, once it has been idle for `ttl` seconds."""
        connection = await self._store.connect()
        try:
            if connection.pooled:
                raise Refused(
                    f"a pooler is in the way to postgresql at {self._store.address}, and would share out our locks: "
                    f"connect past it, or use postgresql://, which keeps leases in a table"
                )
            await self.call(connection, "sit", holder.id.encode(), text(holder.label), b"%f" % ttl)
        except BaseException:
            connection.close()
            raise
        return connection

    async def call(self, connection: wire.Connection, name: str, *parameters: bytes) -> pq.abc.PGresult:
        try:
            return await connection.call(self._sql[name], *parameters)
        except ServerError as error:
            raise explain(error, connection.address) from error
