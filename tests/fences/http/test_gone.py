"""A client that goes away: what runs for it keeps its guard, and what does not run yet never does."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from fencepost.fences.host import AsyncHostFence
from fencepost.fences.http import FencedAsgi
from tests.support.fences.asgi import WHOLE, ask

pytestmark = pytest.mark.unit
GONE: list[dict[str, Any]] = [*WHOLE, {"type": "http.disconnect"}]


class Work:
    """An app that is at it until told, in a thread of which nobody can be cancelled."""

    def __init__(self, folder: Path) -> None:
        self.happened: list[str] = []
        self.begun, self.go_on = asyncio.Event(), asyncio.Event()
        self.fenced = FencedAsgi(self._app, AsyncHostFence(folder / "marks"))

    async def _app(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        await asyncio.shield(asyncio.ensure_future(self._work(scope["fencepost.token"])))
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"done"})

    async def _work(self, token: int) -> None:
        self.happened.append(f"{token} begins")
        self.begun.set()
        if token == 6:
            await self.go_on.wait()
        self.happened.append(f"{token} ends")


async def test_a_request_that_the_server_cancels_keeps_its_guard_until_the_app_is_done(tmp_path: Path) -> None:
    work = Work(tmp_path)
    older = asyncio.create_task(ask(work.fenced, b"/orders/42", 6))
    await work.begun.wait()
    older.cancel()
    newer = asyncio.create_task(ask(work.fenced, b"/orders/42", 7))
    # Long enough for a fence that does not hold it off to let it in. If not, nothing is found out.
    await asyncio.wait([newer], timeout=0.1)
    work.go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await older
    await newer
    assert work.happened == ["6 begins", "6 ends", "7 begins", "7 ends"]


async def test_a_request_that_is_cancelled_before_its_turn_never_runs(tmp_path: Path) -> None:
    work = Work(tmp_path)
    older = asyncio.create_task(ask(work.fenced, b"/orders/42", 6))
    await work.begun.wait()
    newer = asyncio.create_task(ask(work.fenced, b"/orders/42", 7))
    await asyncio.wait([newer], timeout=0.1)
    newer.cancel()
    with pytest.raises(asyncio.CancelledError):
        await newer
    work.go_on.set()
    await older
    assert work.happened == ["6 begins", "6 ends"]


async def test_a_request_whose_client_is_gone_before_its_turn_never_runs(tmp_path: Path) -> None:
    """Its client may have asked for something newer meanwhile, and heard that it is done."""
    work = Work(tmp_path)
    assert await ask(work.fenced, b"/orders/42", 7, messages=GONE) == []
    assert work.happened == []
    assert (await ask(work.fenced, b"/orders/42", 7))[0]["status"] == 200


async def test_a_client_that_goes_while_its_request_waits_is_seen(tmp_path: Path) -> None:
    work, hangs_up = Work(tmp_path), asyncio.Event()
    messages = iter(GONE)

    async def receive() -> dict[str, Any]:
        message = next(messages)
        if message["type"] == "http.disconnect":
            await hangs_up.wait()
        return message

    async def send(message: dict[str, Any]) -> None:
        raise AssertionError

    older = asyncio.create_task(ask(work.fenced, b"/orders/42", 6))
    await work.begun.wait()
    scope = {"type": "http", "method": "PUT", "path": "/orders/42", "headers": [(b"fencing-token", b"7")]}
    newer = asyncio.create_task(work.fenced(scope, receive, send))
    await asyncio.wait([newer], timeout=0.1)
    hangs_up.set()
    await asyncio.sleep(0)
    work.go_on.set()
    await asyncio.gather(older, newer)
    assert work.happened == ["6 begins", "6 ends"]


async def test_the_app_itself_hears_that_its_client_goes(tmp_path: Path) -> None:
    heard: list[str] = []
    hangs_up = asyncio.Event()
    messages = iter(GONE)

    async def app(scope: dict[str, Any], receive: Any, send: Any) -> None:
        heard.append((await receive())["type"])
        for _ in range(2):
            # Some listen for a while only, and again later.
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(receive(), 0.01)
        hangs_up.set()
        heard.append((await receive())["type"])

    async def receive() -> dict[str, Any]:
        message = next(messages)
        if message["type"] == "http.disconnect":
            await hangs_up.wait()
        return message

    async def send(message: dict[str, Any]) -> None:
        raise AssertionError

    scope = {"type": "http", "method": "PUT", "path": "/orders/42", "headers": [(b"fencing-token", b"7")]}
    await FencedAsgi(app, AsyncHostFence(tmp_path / "marks"))(scope, receive, send)
    assert heard == ["http.request", "http.disconnect"]
