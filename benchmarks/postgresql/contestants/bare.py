"""The limits: prepared statements sent by libpq with nothing around them, a token included."""

import secrets
import select

from psycopg import pq

import fencepost
from benchmarks.contestant import Contestant
from benchmarks.postgresql.place import conninfo, url
from fencepost.engines.postgresql.query import ADVISE
from fencepost.engines.postgresql.sql import statements

SQL = statements("statements", "fencepost")

SEQUENCE = b"CREATE SEQUENCE IF NOT EXISTS bare_token"
LOCK = b"SELECT CASE WHEN pg_advisory_lock(hashtextextended($1, 0)) IS NULL THEN NULL ELSE nextval('bare_token') END"
UNLOCK = b"SELECT pg_advisory_unlock(hashtextextended($1, 0))"

# In milliseconds: longer than anybody is waited for here.
PATIENCE = 60_000
# What table leases need: a living lease, nobody who holds or waits, a token; to give it back, whether anybody waits.
TABLES = b"""
CREATE TABLE IF NOT EXISTS bare_lease (id text PRIMARY KEY, expires_at timestamptz);
CREATE TABLE IF NOT EXISTS bare_claim (
    key bigint, name text, ticket bigint, token bigint, holder text, serial bigint, note text, since timestamptz,
    PRIMARY KEY (key, ticket));
CREATE INDEX IF NOT EXISTS bare_claim_of_holder ON bare_claim (holder, serial);
INSERT INTO bare_lease VALUES ('me', clock_timestamp() + interval '1 day') ON CONFLICT DO NOTHING;
SET enable_seqscan = off; SET enable_bitmapscan = off; SET jit = off
"""
# Of a lease under which every claim was answered.
EPOCH = b"0"
CLAIM = b"""
INSERT INTO bare_claim SELECT hashtextextended($1, 0), $1, number, number, 'me', 1, '', clock_timestamp() FROM (
    SELECT nextval('bare_token') AS number FROM bare_lease WHERE id = 'me' AND expires_at > clock_timestamp()
    AND NOT EXISTS (SELECT FROM bare_claim WHERE key = hashtextextended($1, 0) AND name = $1)) AS granted
RETURNING token"""
RELEASE = b"""
DELETE FROM bare_claim WHERE key = hashtextextended($1, 0) AND name = $1 AND holder = 'me' AND token = $2
RETURNING EXISTS (SELECT FROM bare_lease WHERE id = 'me' AND expires_at > clock_timestamp()),
          EXISTS (SELECT FROM bare_claim WHERE key = hashtextextended($1, 0) AND token IS NULL)"""


class BareAdvisory(Contestant):
    name = "bare advisory + token"
    tokens = True

    def __init__(self, place: int) -> None:
        self._connection = _connect(place, SEQUENCE)
        self._connection.prepare(b"lock", LOCK)
        self._connection.prepare(b"unlock", UNLOCK)

    def acquire(self) -> None:
        int(self._connection.exec_prepared(b"lock", [b"lock"]).get_value(0, 0) or 0)

    def release(self) -> None:
        self._connection.exec_prepared(b"unlock", [b"lock"]).get_value(0, 0)

    def close(self) -> None:
        self._connection.finish()


class BareTable(Contestant):
    """No queue: it can only be measured alone."""

    name = "bare table statements"
    tokens = True
    across_processes = False

    def __init__(self, place: int) -> None:
        self._connection = _connect(place, SEQUENCE, TABLES)
        self._connection.prepare(b"claim", CLAIM)
        self._connection.prepare(b"release", RELEASE)
        self._token = b""

    def acquire(self) -> None:
        self._token = self._connection.exec_prepared(b"claim", [b"lock"]).get_value(0, 0) or b""

    def release(self) -> None:
        self._connection.exec_prepared(b"release", [b"lock", self._token]).get_value(0, 0)

    def close(self) -> None:
        self._connection.finish()


class BareQueue(Contestant):
    """The queue of table leases, told by NOTIFY: the statements of the engine, and nothing around them."""

    name = "bare table queue"
    tokens = True

    def __init__(self, place: int) -> None:
        with fencepost.connect(url("postgresql", place)) as session:
            # What is measured is not how long it takes to make the schema.
            session.lock("install").acquire().release()
        self._holder = secrets.token_hex(16).encode()
        self._connection = _connect(place, ADVISE.encode())
        self._ear = _connect(place, b'LISTEN "%b"' % self._holder)
        self._poll = select.poll()
        self._poll.register(self._ear.socket, select.POLLIN)
        for name in ("claim", "release"):
            self._connection.prepare(name.encode(), SQL[name].text)
        self._connection.exec_params(SQL["lease_open"].text, [self._holder, b"bare", b"600", self._holder, EPOCH])
        self._serial = 0
        self._token = b""

    def acquire(self) -> None:
        self._serial += 1
        asked = [self._holder, b"%d" % self._serial, b"lock", b"", b"t", EPOCH]
        self._claim(asked)
        while not self._token.isdigit():
            if not self._poll.poll(PATIENCE):
                raise RuntimeError(f"no grant and no message: the claim was answered with {self._token!r}")
            self._ear.consume_input()
            while (told := self._ear.notifies()) is not None:
                # A message is news, and no grant: anybody may send one.
                if told.extra.split(b":")[1] == asked[1]:
                    self._claim(asked)

    def _claim(self, asked: list[bytes]) -> None:
        """Asked again, it is answered at length."""
        answer = self._connection.exec_prepared(b"claim", asked).get_value(0, 0) or b""
        self._token = answer.removeprefix(b'{"tokens": [').removesuffix(b"]}")

    def release(self) -> None:
        given = [self._holder, b"%d" % self._serial, b"lock", self._token, EPOCH]
        self._connection.exec_prepared(b"release", given).get_value(0, 0)

    def close(self) -> None:
        self._connection.exec_params(SQL["lease_close"].text, [self._holder])
        self._connection.finish()
        self._ear.finish()


def _connect(place: int, *scripts: bytes) -> pq.abc.PGconn:
    connection: pq.abc.PGconn = pq.PGconn.connect(conninfo(place).encode())
    # Two that make the same sequence at once get in each other's way.
    connection.exec_(b"SELECT pg_advisory_lock(1)")
    for script in scripts:
        connection.exec_(script)
    connection.exec_(b"SELECT pg_advisory_unlock(1)")
    return connection
