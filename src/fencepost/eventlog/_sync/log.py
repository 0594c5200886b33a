# Generated from src/fencepost/eventlog/_async/log.py by tools/unasync.py. Do not edit: run `make gen`.
"""Streams of events that only grow."""

import json
from collections.abc import Iterator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from fencepost._runtime import threads as runtime
from fencepost.core.name import check_name
from fencepost.core.version import check_version
from fencepost.errors import Conflict, Unsupported
from fencepost.eventlog.event import Event
from fencepost.fences.protocol import Tokened
from fencepost.fences.sql._sync.fence import SqlFence
from fencepost.fences.sql.dialect import MYSQL, row_key
from fencepost.fences.sql.driver import threads as driver

# Only at the end: where the last version is not the expected one, nothing is selected and nothing inserted.
APPEND = """
INSERT INTO fencepost_event (stream, version, body)
SELECT :stream, :version, :body
WHERE (SELECT coalesce(max(version), 0) FROM fencepost_event WHERE stream = :stream) = :version - 1
"""
READ = "SELECT version, body FROM fencepost_event WHERE stream = :stream AND version > :after ORDER BY version"
VERSION = "SELECT coalesce(max(version), 0) FROM fencepost_event WHERE stream = :stream"
PLACE = "SAVEPOINT fencepost_append"


def _bodies(events: Sequence[Any]) -> list[str]:
    if isinstance(events, str | bytes | Mapping) or not isinstance(events, Iterable):
        raise TypeError(f"events are a list, not {type(events).__name__}")
    try:
        return [json.dumps(event) for event in events]
    except (TypeError, ValueError, RecursionError) as error:
        why = "it is nested too deeply" if isinstance(error, RecursionError) else error
        raise TypeError(f"one of the events is not what JSON can hold: {why}") from error


class EventLog:
    """Events in table `fencepost_event`, through a connection that a SQL fence takes. Bodies are what JSON can hold.

    Two that append to the same version of a stream can not both succeed: the second gets `Conflict`, reads what came
    in between, and decides again. Inside an open transaction an append takes part in it.
    """

    def __init__(self, connection: Any) -> None:
        self._driver = driver.adapt(connection)
        if self._driver.dialect is MYSQL:
            raise Unsupported("an event log is kept in SQLite or PostgreSQL, not in MySQL")
        self._fence = SqlFence(connection)

    def install(self) -> None:
        """Make the table, if it is not there. To be called once, before anything else."""
        joined = self._driver.in_transaction()
        try:
            schema = self._driver.dialect.statement("event_schema")
            (self._driver.script(schema) if joined else self._driver.begin(schema))
            if not joined:
                self._driver.commit()
        except BaseException as error:
            if not joined:
                runtime.shielded(self._roll_back())
            if not isinstance(error, Exception) or not self._driver.dialect.is_already_there(error):
                raise

    def append(
        self, stream: str, events: Sequence[Any], *, expected: int, grant: Tokened | int | None = None
    ) -> int:
        """Put `events` behind the event with version `expected` (0: the stream is new); the new version.

        All or none. `Conflict` if the stream is not at that version. With a `grant`, `Stale` if a newer holder has
        shown its token for this stream.
        """
        check_name(stream, "the name of a stream")
        bodies = _bodies(events)
        check_version(expected, "expected")
        check_version(expected + len(bodies), "the version after these events")
        if grant is not None:
            with self._fence.guard(stream, grant):
                return self._append(stream, bodies, expected)
        with self._transaction():
            return self._append(stream, bodies, expected)

    def read(self, stream: str, *, after: int = 0) -> list[Event]:
        """The events of a stream, in order, from the one behind `after`."""
        place = row_key(check_name(stream, "the name of a stream"))
        rows = self._look(READ, {"stream": place, "after": check_version(after, "after")})
        return [Event(version, json.loads(body)) for version, body in rows]

    def version(self, stream: str) -> int:
        """How many events the stream has."""
        ((version,),) = self._look(VERSION, {"stream": row_key(check_name(stream, "the name of a stream"))})
        return int(version)

    def _append(self, stream: str, bodies: list[str], expected: int) -> int:
        version = expected
        for body in bodies:
            version += 1
            params = {"stream": row_key(stream), "version": version, "body": body}
            try:
                appended = (self._driver.run(APPEND, params)).changed
            except Exception as error:
                if not self._driver.dialect.is_taken(error):
                    raise
                appended = 0
            if not appended:
                raise Conflict(f"stream '{stream}' is not at version {expected} any more: read it again")
        return version

    @contextmanager
    def _transaction(self) -> "Iterator[None]":
        """A transaction, or a place to go back to in the one there is."""
        joined = self._driver.in_transaction()
        if joined:
            self._driver.check_open()
            self._driver.script(PLACE)
        try:
            if not joined:
                self._driver.begin()
                self._driver.check_open()
            yield
            (self._driver.script(f"RELEASE {PLACE}") if joined else self._driver.commit())
        except BaseException as error:
            try:
                runtime.shielded(self._back(joined))
            finally:
                # A signal handler may have raised before it was rolled back.
                if not joined and self._driver.in_transaction():
                    runtime.shielded(self._roll_back())
            if not joined and self._driver.dialect.is_overtaken(error):
                # Above READ COMMITTED this is how the database tells who comes second.
                raise Conflict("somebody else appends to this stream just now: read it again") from error
            raise

    def _back(self, joined: bool) -> None:
        if joined:
            self._driver.script(f"ROLLBACK TO {PLACE}", f"RELEASE {PLACE}")
        else:
            self._roll_back()

    def _roll_back(self) -> None:
        """Leave no transaction, also where the beginning of one was cancelled, and is still on its way to the database.

        Whether one is open shows only behind that; so it is asked for in any case, in the same line.
        """
        try:
            self._driver.rollback()
        except Exception:
            if self._driver.in_transaction():
                raise

    def _look(self, sql: str, params: dict[str, Any]) -> list[tuple[Any, ...]]:
        joined = self._driver.in_transaction()
        try:
            return (self._driver.run(sql, params)).rows
        finally:
            if not joined and self._driver.in_transaction():
                self._driver.rollback()
