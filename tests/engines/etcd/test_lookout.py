"""Several who begin to wait for one name at once share one watch, whatever becomes of the one that opens it."""

import asyncio
import itertools
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from fencepost import Unavailable
from fencepost._runtime.clock import boottime
from fencepost._runtime.lobby import Lobby
from fencepost.engines.etcd._async.lookout import AsyncLookout
from fencepost.engines.etcd.key import Place
from fencepost.engines.etcd.watchtower import Watchtower

from .test_watchtower import CREATED, said

pytestmark = pytest.mark.unit


class Ear:
    """A stream whose opening takes until `opened`, and fails with `trouble` if there is any."""

    def __init__(self) -> None:
        self.is_open = False
        self.opened = asyncio.Event()
        self.called = asyncio.Event()
        self.trouble: Unavailable | None = None
        self._lobby = Lobby()
        self._numbers = itertools.count()

    async def watch(self, words: Callable[[int], bytes], link: object) -> None:
        await self.say(b"", link)
        words(next(self._numbers))

    async def say(self, message: bytes, link: object) -> None:
        self.called.set()
        if not self.is_open:
            await self.opened.wait()
            if self.trouble is not None:
                trouble, self.trouble = self.trouble, None
                raise trouble
            self.is_open = True

    async def wait(self, waiter: Any, until: float) -> None:
        await self._lobby.wait(waiter, until, self._check)

    def _check(self) -> None:
        if not self.is_open:
            raise Unavailable("not open")


class Scene:
    def __init__(self) -> None:
        self.ear = Ear()
        self.tower = Watchtower(boottime)
        link: Any = SimpleNamespace(endpoints="there")
        ear: Any = self.ear
        self.lookout = AsyncLookout(self.tower, ear, link, now=boottime, patience=60)

    async def two(self) -> "list[asyncio.Task[None]]":
        """Two who open a watch of one name; the first of them is on its way, and the second has come to wait for it."""
        tasks = [asyncio.create_task(self.lookout.open([Place("", "a")], for_readers=False)) for _ in range(2)]
        await self.ear.called.wait()
        for _ in range(10):
            await asyncio.sleep(0)
        return tasks

    async def confirm(self) -> None:
        """Be the server, once a watch was asked for."""
        for _ in range(1000):
            await asyncio.sleep(0)
            if views := [view for view in self.tower._views.values() if view.witness is not None]:
                break
        for number in (views[0].number, views[0].witness):
            assert number is not None
            self.tower.hear(said(number, CREATED, 11))


async def test_the_second_waits_while_the_first_opens_the_stream() -> None:
    scene = Scene()
    tasks = await scene.two()
    scene.ear.opened.set()
    await scene.confirm()
    await asyncio.gather(*tasks)
    assert len(scene.tower._views) == 1


async def test_the_second_opens_it_when_the_first_gives_up() -> None:
    scene = Scene()
    first, second = await scene.two()
    first.cancel()
    scene.ear.opened.set()
    await scene.confirm()
    await second
    assert first.cancelled()


async def test_the_second_opens_it_when_the_first_gives_up_before_it_is_confirmed() -> None:
    scene = Scene()
    scene.ear.opened.set()
    first, second = await scene.two()
    (view,) = scene.tower._views.values()
    first.cancel()
    await asyncio.wait([first])
    assert view.is_over
    await scene.confirm()
    await second


async def test_the_second_opens_it_when_the_first_could_not() -> None:
    scene = Scene()
    first, second = await scene.two()
    scene.ear.trouble = Unavailable("refused")
    scene.ear.opened.set()
    await scene.confirm()
    await second
    with pytest.raises(Unavailable, match="refused"):
        await first


async def test_the_second_opens_it_anew_when_the_stream_is_lost() -> None:
    scene = Scene()
    scene.ear.opened.set()
    tasks = await scene.two()
    scene.tower.drop_all()
    await scene.confirm()
    await asyncio.gather(*tasks)
