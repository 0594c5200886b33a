# Generated from src/fencepost/engines/postgresql/_async/store.py by tools/unasync.py. Do not edit: run `make gen`.
"""A database with our schema in it: created where it is missing, refused where it is newer than we are."""

from psycopg import pq

from fencepost.core.malformed import decoder
from fencepost.core.url import Url
from fencepost.engines.postgresql import query
from fencepost.engines.postgresql.address import Address, locate, schema_of
from fencepost.engines.postgresql.query import ADVISE, Parameter, Query, limit, text
from fencepost.engines.postgresql.sql import VERSION, installation, statements
from fencepost.engines.postgresql.trouble import ServerError, explain
from fencepost.engines.postgresql.wire import threads as wire
from fencepost.errors import Refused, Unavailable

MISSING = ("42P01", "3F000")
# What creating it meets when another process was faster.
MADE_MEANWHILE = ("42P07", "42P06", "23505")


class Store:
    def __init__(self, url: Url, patience: float) -> None:
        self.address = locate(url)
        self.schema = schema_of(url)
        self._patience = patience
        self._sql = statements("statements", self.schema)
        self._owner = url.options.get("owner", "")
        self._trusted = False
        self._pool = wire.Pool(self.address, patience, self._greet)

    def call(self, what: Query, *parameters: Parameter) -> pq.abc.PGresult:
        """The result of a statement that may be run on any connection."""
        return self._pool.call(what, *parameters)

    def value(self, what: Query, *parameters: Parameter) -> bytes | None:
        return query.value(self._pool.call(what, *parameters))

    def call_at_once(self, what: Query, *parameters: Parameter) -> pq.abc.PGresult:
        """For what a lease lives on: however many others are asking, and wait for their answers."""
        return self._pool.call_at_once(what, *parameters)

    def dial(self, address: Address | None = None) -> wire.Connection:
        """A connection of the caller's own, with nothing said on it yet."""
        return wire.connect(address or self.address, self._patience)

    def connect(self) -> wire.Connection:
        """A connection of the caller's own, and a look at the schema."""
        connection = self.dial()
        try:
            self._look(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _greet(self, connection: wire.Connection) -> None:
        """Make a connection ready for statements on our tables."""
        self._look(connection)
        if not connection.pooled:
            connection.script(f"{ADVISE}; {limit(self._patience)}")

    def _look(self, connection: wire.Connection) -> None:
        """Find out whether a pooler is in between, and which schema is there; make one if there is none.

        Without a pooler, the transactions of the connection are at READ COMMITTED from here on, whatever the default.
        """
        if not self._trusted:
            self._check_owners(connection)
        found = self._version(connection) if self._trusted else None
        if found is None:
            found = self._install(connection)
        version, pid = _version_of(found)
        if version != VERSION:
            raise Refused(
                f"schema '{self.schema}' at {self.address} has version {version}, and this fencepost knows {VERSION}: "
                f"{'upgrade fencepost' if version > VERSION else 'name another schema with ?schema='}"
            )
        # A pooler gives each of its clients a number of its own making.
        connection.pooled = pid != connection.pid

    def _install(self, connection: wire.Connection) -> query.Rows:
        try:
            connection.script(installation(self.schema))
        except ServerError as error:
            if error.state not in MADE_MEANWHILE:
                raise explain(error, self.address) from error
        self._check_owners(connection)
        found = self._version(connection) if self._trusted else None
        if found is None:
            raise Unavailable(f"schema '{self.schema}' at {self.address} was removed while it was made")
        return found

    def _version(self, connection: wire.Connection) -> query.Rows | None:
        """None if there is none."""
        try:
            return query.rows(connection.script(self._sql["version"].first(connection.pid), self._patience))
        except ServerError as error:
            if error.state in MISSING:
                return None
            raise explain(error, self.address) from error

    def _check_owners(self, connection: wire.Connection) -> None:
        """Refuse what belongs to a role that could do by our hands what it can not do itself."""
        try:
            there, strangers = _owners_of(query.rows(connection.call(self._sql["owners"], text(self._owner))))
        except ServerError as error:
            raise explain(error, self.address) from error
        if strangers is not None:
            owners = query.words(strangers)
            raise Refused(
                f"schema '{self.schema}' at {self.address} belongs to {owners}, whose functions would run with your "
                f"rights: if you trust that role with them, add owner={owners} to the URL"
            )
        self._trusted = there == b"t"

    def close(self) -> None:
        self._pool.close()


@decoder
def _version_of(rows: query.Rows) -> tuple[int, int]:
    """Of the schema, and the number of the connection."""
    version, pid, *_ = rows[0]
    return int(version or 0), int(pid or 0)


@decoder
def _owners_of(rows: query.Rows) -> tuple[bytes | None, bytes | None]:
    """Whether the schema is there, and whom we do not trust of those that parts of it belong to."""
    ((there, strangers),) = rows
    return there, strangers
