"""Other ways to lock with PostgreSQL: by hand with psycopg, and tooz."""

import psycopg
from tooz import coordination

from benchmarks.contestant import Contestant
from benchmarks.postgresql.contestants.bare import LOCK, SEQUENCE, UNLOCK
from benchmarks.postgresql.place import conninfo, url


class Psycopg(Contestant):
    """Blocking advisory locks by hand, on one connection, with a token as ours have it."""

    name = "psycopg advisory + token"
    tokens = True

    def __init__(self, place: int) -> None:
        self._connection = psycopg.connect(conninfo(place), autocommit=True)
        with self._connection.transaction():
            self._connection.execute("SELECT pg_advisory_xact_lock(1)")
            self._connection.execute(SEQUENCE)
        self._lock, self._unlock = (text.replace(b"$1", b"%s") for text in (LOCK, UNLOCK))

    def acquire(self) -> None:
        self._connection.execute(self._lock, ["lock"]).fetchone()

    def release(self) -> None:
        self._connection.execute(self._unlock, ["lock"]).fetchone()

    def close(self) -> None:
        self._connection.close()


class Tooz(Contestant):
    name = "tooz"

    def __init__(self, place: int) -> None:
        self._coordinator = coordination.get_coordinator(url("postgresql", place), b"member")
        self._coordinator.start()
        self._lock = self._coordinator.get_lock(b"lock")

    def acquire(self) -> None:
        self._lock.acquire()

    def release(self) -> None:
        self._lock.release()

    def close(self) -> None:
        self._coordinator.stop()
