"""One object of each public kind, in either flavour, and a count of all that they send."""

import asyncio
import inspect
import sqlite3
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import aiosqlite

import fencepost
from fencepost import eventlog, optimistic, sql, testing
from fencepost.fences import FileFence, MemoryFence, SqliteFence, host, http, registry, result, s3, token_of
from fencepost.fences import sql as fences
from tests.support.arguments.table import GIVEN

# What must be entered to be judged.
ENTERED = ("guard", "visit", "using")
# An interval of a microsecond: nobody waits.
RATE = (5, 5e-6)
SCHEMA = (
    "CREATE TABLE orders (id INTEGER, total INTEGER, version INTEGER, fencing_token INTEGER)",
    "INSERT INTO orders VALUES (1, 1, 0, 0)",
)


class Sent(Exception):
    """What a stand-in for somebody else's client raises as soon as it is used."""


class Client:
    """Of S3 or PostgreSQL."""

    def _send(self, *args: object, **more: object) -> Any:
        raise Sent

    put_object = get_object = get = execute = _send
    autocommit = property(_send)


class RedisClient:
    def register_script(self, lua: str) -> Callable[..., Any]:
        return self.get

    def get(self, *args: object, **more: object) -> Any:
        raise Sent


class AsyncRedisClient(RedisClient):
    async def execute_command(self, *args: object, **more: object) -> Any:
        raise Sent


class Recorder:
    """An engine, or its cells, that counts what is asked of it."""

    def __init__(self, engine: Any, stage: "Stage") -> None:
        self._engine = engine
        self._stage = stage

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._engine, name)
        if callable(value):
            self._stage.sent += 1
        return Recorder(value, self._stage) if name == "cells" else value


class Stage:
    def __init__(self, folder: Path, *, twin: bool) -> None:
        """`twin`: everything that there is in two flavours is blocking."""
        self.sent = 0
        self._folder = folder
        self._twin = twin
        self._end = ExitStack()
        self._loop = asyncio.new_event_loop()
        self._end.callback(self._loop.close)
        self.session = self._session()

    def close(self) -> None:
        self._settled(self.session.close)
        self._end.close()

    def call(self, title: str, **arguments: Any) -> Any:
        """What comes of the call; a block is entered, and left again."""
        kind, _, method = title.rpartition(".")
        receiver = self._receiver(title) if kind else self._function(title)
        function = receiver if method == "__init__" or not kind else getattr(receiver, method)
        args, named = self._arranged(title, function, arguments)
        found = self._settled(lambda: function(*args, **named))
        if method in ENTERED:
            self._through(found)
        return found

    def prepare(self, title: str) -> None:
        """Make the object that the call is of."""
        if "." in title:
            self._receiver(title)

    def has(self, title: str) -> bool:
        """Whether there is such a call in this flavour; what there is in one flavour only counts as blocking."""
        kind, _, _ = title.rpartition(".")
        if not kind:
            return title != "token_of" or self._twin
        return self._twin or self._class(kind).__name__.startswith("Async")

    def _arranged(self, title: str, function: Any, given: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """The arguments for the call, with something fit for those that it needs and that were not given."""
        parameters = inspect.signature(function).parameters.values()
        args: list[Any] = []
        named: dict[str, Any] = {}
        positional = any(each.kind is each.VAR_POSITIONAL and each.name in given for each in parameters)
        for each in parameters:
            if each.name in given:
                value = given[each.name]
            elif each.default is each.empty and each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD):
                value = self._fit(title, each.name)
            else:
                continue
            if each.kind is each.POSITIONAL_ONLY or (positional and each.kind is not each.KEYWORD_ONLY):
                args.append(value)
            else:
                named[each.name] = value
        return args, named

    def _fit(self, title: str, name: str) -> Any:
        if name == "connection" and title.startswith(("lock_rows", "xact", "try_xact")):
            return Client()
        if name in ("connection", "store"):
            return self._blocking() if title.startswith("Sqlite") else self._connection()
        if name == "key" and title.startswith(("RowFence", "Table")):
            return 1
        client = self._redis() if title.startswith("Redis") else Client()
        return {"client": client, "path": self._folder / "place", "fence": None, "app": print, **GIVEN}[name]

    def _function(self, title: str) -> Any:
        for module in (fencepost, sql):
            if hasattr(module, title):
                return getattr(module, title if self._twin else f"{title}_async")
        return token_of

    def give_back(self, found: Any) -> None:
        """What was granted, so that the next one gets it, too."""
        for name in ("release", "leave", "close"):
            held = getattr(found, "grant", found) if name == "release" else found
            if hasattr(held, name):
                self._settled(getattr(held, name))
                return

    def _settled(self, work: Callable[[], Any]) -> Any:
        """What comes of it, inside of an event loop unless it is a twin."""
        if self._twin:
            return work()

        async def go() -> Any:
            found = work()
            return await found if inspect.isawaitable(found) else found

        return self._loop.run_until_complete(go())

    def _through(self, block: Any) -> None:
        if self._twin or hasattr(block, "__enter__"):
            with block:
                return

        async def go() -> None:
            async with block:
                pass

        self._settled(go)

    def _session(self) -> Any:
        url = f"memory://{self._folder.name}"
        session: Any = (fencepost.connect if self._twin else fencepost.connect_async)(url, ttl=300, holder="stage")
        session.engine = Recorder(session.engine, self)
        return session

    def _redis(self) -> Any:
        return RedisClient() if self._twin else AsyncRedisClient()

    def _connection(self) -> Any:
        """Of a database that has the table, and counts what it is told."""
        if self._twin:
            return self._blocking()
        connection = self._settled(lambda: aiosqlite.connect(":memory:", isolation_level=None))
        self._end.callback(self._settled, connection.close)
        for statement in SCHEMA:
            self._settled(partial(connection.execute, statement))
        self._settled(partial(connection.set_trace_callback, self._note))
        return connection

    def _blocking(self) -> sqlite3.Connection:
        connection = sqlite3.connect(":memory:", isolation_level=None)
        self._end.callback(connection.close)
        for statement in SCHEMA:
            connection.execute(statement)
        connection.set_trace_callback(self._note)
        return connection

    def _note(self, _: str) -> None:
        self.sent += 1

    def _receiver(self, title: str) -> Any:
        """The object that the call is of; for a constructor, the class."""
        kind, _, method = title.partition(".")
        if method == "__init__":
            return self._class(kind)
        kept = getattr(self, f"_kept_{kind}_{method}", None)
        if kept is None:
            kept = self._made(kind, f"{kind} {method}")
            setattr(self, f"_kept_{kind}_{method}", kept)
        return kept

    def _class(self, kind: str) -> Any:
        twin = kind if self._twin else f"Async{kind}"
        for module in (fencepost, fences, host, http, registry, result, s3, optimistic, eventlog, testing):
            for name in (twin, kind):
                if hasattr(module, name):
                    return getattr(module, name)
        return {"FileFence": FileFence, "MemoryFence": MemoryFence}[kind]

    def _made(self, kind: str, name: str) -> Any:
        session, made = self.session, self._class(kind)
        match kind:
            case "Session":
                return session
            case "Lock":
                return session.lock(name)
            case "LockAll":
                return session.lock_all([name])
            case "Election":
                election = session.election(name)
                if name.endswith("proclaim"):
                    self._settled(election.acquire)
                return election
            case "Group":
                return session.group(name)
            case "Partitions":
                return session.partitions(name, 1)
            case "Barrier":
                return session.barrier(name, 1)
            case "Latch":
                latch = session.latch(name, 1)
                if name.endswith("wait"):
                    self._settled(latch.count_down)
                return latch
            case "RateLimit":
                return session.rate_limit(name, *RATE)
            case "Job":
                return session.job(name)
            case "Once":
                return session.once("{given}")
            case "ReadWriteLock":
                return session.rwlock(name)
            case "Grant":
                return self._settled(session.lock(name).acquire)
            case "Grants":
                return self._settled(session.lock_all([name]).acquire)
            case "Membership":
                return self._settled(session.group(name).acquire)
            case "Ownership":
                return self._settled(session.partitions(name, 4).acquire)
            case "Run":
                return self._settled(lambda: session.job(name).begin(1))
            case "Traits":
                return session.traits
            case "MemoryFence" | "MemoryResults" | "VirtualClock" | "World":
                return made()
            case "FileFence" | "HostFence" | "FileResults":
                return made(self._folder / "place")
            case "SqliteFence":
                return SqliteFence(self._blocking())
            case "SqlFence" | "Registry" | "SqlResults" | "EventLog":
                made = made(self._connection())
                if kind == "EventLog":
                    self._settled(made.install)
                return made
            case "RowFence":
                return made(self._connection(), "orders")
            case "Table":
                return made(self._connection(), "orders", ["total"])
            case "RedisResults":
                return made(self._redis())
            case "S3Fence":
                return made(Client(), "b")
            case "FaultyEngine":
                return made(session.engine)
            case "Proxy":
                return object.__new__(made)
        raise AssertionError(f"nobody makes a {kind} here")
