"""The registry, in each kind of store."""

import sqlite3
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest
import redis

from fencepost.errors import Stale
from fencepost.fences.registry import AsyncRegistry, Registry
from fencepost.testing.redis import command, shared_server
from tests.support.fences.database import MariadbPlace, PostgresqlPlace
from tests.support.fences.process import resume, started, stop


@pytest.fixture(params=["sqlite", "postgresql", "mariadb", "redis"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    places = {"postgresql": PostgresqlPlace, "mariadb": MariadbPlace}
    if request.param in places:
        place = places[request.param](tmp_path)
        yield place.connect()
        place.close()
        return
    command(shared_server(), "FLUSHALL")
    store: Any = redis.Redis(port=shared_server())
    if request.param == "sqlite":
        store = sqlite3.connect(tmp_path / "registry.db")
    yield store
    store.close()


def test_a_stale_token_is_not_admitted(store: Any) -> None:
    registry = Registry(store)
    registry.admit("printer", 7)
    registry.admit("printer", 7)
    with pytest.raises(Stale):
        registry.admit("printer", 6)
    with pytest.raises(Stale), registry.visit("printer", 6):
        raise AssertionError("a stale holder was let in")
    assert (registry.highest("printer"), registry.highest("plotter")) == (7, 0)


def test_a_visitor_that_was_overtaken_is_told(store: Any) -> None:
    registry = Registry(store)
    with registry.visit("printer", 7):
        pass
    with pytest.raises(Stale), registry.visit("printer", 8):
        registry.admit("printer", 9)


def visit_when_told(path: Path, pipe: Connection) -> None:
    try:
        with Registry(sqlite3.connect(path)).visit("printer", 6):
            pipe.send("inside")
            pipe.recv()
        pipe.send("done")
    except Stale as error:
        pipe.send(error)


def test_a_visitor_stopped_and_resumed_after_a_newer_one_came_is_told(tmp_path: Path) -> None:
    path = tmp_path / "registry.db"
    with started(visit_when_told, path) as (process, pipe):
        assert pipe.recv() == "inside"
        stop(process)
        pipe.send("go on")
        connection = sqlite3.connect(path)
        Registry(connection).admit("printer", 7)
        connection.close()
        resume(process)
        assert isinstance(pipe.recv(), Stale)


async def test_the_asynchronous_registry_keeps_the_same_law(tmp_path: Path) -> None:
    import aiosqlite

    async with aiosqlite.connect(tmp_path / "registry.db") as store:
        registry = AsyncRegistry(store)
        async with registry.visit("printer", 7):
            pass
        with pytest.raises(Stale):
            await registry.admit("printer", 6)
        assert await registry.highest("printer") == 7
