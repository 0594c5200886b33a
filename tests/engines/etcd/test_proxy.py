"""Through etcd's own grpc-proxy: it numbers watches itself, and gives up a call of which it has heard the end."""

import asyncio
import secrets
from collections.abc import Iterator
from time import monotonic

import pytest

import fencepost
from fencepost._runtime import aio, threads
from fencepost.contract.answer import Cell, Granted, Queued
from fencepost.core.claim import Ask, Claim, Request
from fencepost.core.holder import Holder
from fencepost.core.url import parse_url
from fencepost.engines.etcd._async.engine import AsyncEngine
from fencepost.engines.etcd._sync.engine import Engine
from fencepost.testing.etcd import UP, built_etcd, empty, serves, shared_server
from fencepost.testing.port import free_port
from fencepost.testing.server import ServerProcess
from tests.support.renewal import renew, renew_async

# In another order than that in which they are asked for.
NAMES = ("c", "a", "d", "b")
WAIT = 100.0


@pytest.fixture(scope="module")
def proxy() -> Iterator[str]:
    port = free_port()
    url = f"etcd://127.0.0.1:{port}"
    argv = [built_etcd(), "grpc-proxy", "start", "--endpoints", f"127.0.0.1:{shared_server()}"]
    argv += ["--listen-addr", f"127.0.0.1:{port}", "--data-dir", "{folder}"]
    with ServerProcess(argv, ready=lambda _: serves(url), timeout=UP):
        yield url


@pytest.fixture
def url(proxy: str) -> str:
    """Of a proxy in front of an empty server."""
    empty(shared_server())
    return proxy


def holders() -> tuple[Holder, Holder]:
    return Holder(secrets.token_hex(12), "holder"), Holder(secrets.token_hex(12), "waiter")


def asks(holder: Holder) -> dict[str, Request]:
    return {name: Request(holder, serial, (Ask(name),)) for serial, name in enumerate(sorted(NAMES))}


def test_a_lease_is_renewed(url: str) -> None:
    with fencepost.connect(url, ttl=60) as session, session.lock("a") as grant:
        renew(session)
        renew(session)
        assert grant.held


async def test_a_lease_is_renewed_by_tasks(url: str) -> None:
    async with fencepost.connect_async(url, ttl=60) as session, session.lock("a") as grant:
        await renew_async(session)
        await renew_async(session)
        assert grant.held


def test_whoever_waits_for_several_names_is_told_of_each(url: str) -> None:
    engine = Engine(parse_url(url), clock=threads.BootClock(), patience=60.0)
    holder, waiter = holders()
    for each in (holder, waiter):
        engine.lease_open(each, 120)
    held = {name: engine.claim(request, wait=False) for name, request in asks(holder).items()}
    queued = {name: engine.claim(request, wait=True) for name, request in asks(waiter).items()}
    started_at = monotonic()
    for name in NAMES:
        granted, place = held[name], queued[name]
        assert isinstance(granted, Granted)
        assert isinstance(place, Queued)
        assert engine.release(Claim(holder, place.request.serial, Ask(name), granted.tokens[0]))
        assert isinstance(engine.wait(place, WAIT), Granted)
    # By the watch, and not by looking at the end of that time.
    assert monotonic() - started_at < WAIT
    engine.close()


async def test_tasks_that_wait_for_several_names_are_told_of_each(url: str) -> None:
    engine = AsyncEngine(parse_url(url), clock=aio.BootClock(), patience=60.0)
    holder, waiter = holders()
    for each in (holder, waiter):
        await engine.lease_open(each, 120)
    held = {name: await engine.claim(request, wait=False) for name, request in asks(holder).items()}
    waiting = [engine.claim(request, wait=True) for request in asks(waiter).values()]
    queued = dict(zip(sorted(NAMES), await asyncio.gather(*waiting), strict=True))
    started_at = monotonic()
    for name in NAMES:
        granted, place = held[name], queued[name]
        assert isinstance(granted, Granted)
        assert isinstance(place, Queued)
        assert await engine.release(Claim(holder, place.request.serial, Ask(name), granted.tokens[0]))
        assert isinstance(await engine.wait(place, WAIT), Granted)
    assert monotonic() - started_at < WAIT
    await engine.close()


async def test_who_watches_a_cell_is_told_of_its_change(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = AsyncEngine(parse_url(url), clock=aio.BootClock(), patience=60.0)
    cells, seen, read = engine.cells, asyncio.Event(), engine.cells.read

    async def reading(key: str) -> Cell:
        cell = await read(key)
        seen.set()
        return cell

    monkeypatch.setattr(cells, "read", reading)
    started_at = monotonic()
    for key in NAMES:
        seen.clear()
        watching = asyncio.create_task(cells.watch(key, 0, WAIT))
        await seen.wait()
        await cells.write(key, "new", 0)
        assert (await watching).value == "new"
    assert monotonic() - started_at < WAIT
    await engine.close()
