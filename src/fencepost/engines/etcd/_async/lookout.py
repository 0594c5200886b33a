# Written by hand; the blocking twin under _sync is generated from it.
"""Opening and ending the watches of a session, on its one stream."""

from collections.abc import Callable, Iterable

from fencepost._runtime import aio as runtime
from fencepost.drivers.etcd import request as ask
from fencepost.drivers.etcd.trouble import PERMISSION_DENIED, RpcError, explain
from fencepost.drivers.etcd.wire import aio as wire
from fencepost.engines.etcd.key import Place
from fencepost.engines.etcd.watchtower import Watchtower
from fencepost.errors import EngineError, Unavailable


class AsyncLookout:
    def __init__(
        self, tower: Watchtower, ear: wire.Ear, link: wire.Link, *, now: Callable[[], float], patience: float
    ) -> None:
        self._tower = tower
        self._ear = ear
        self._link = link
        self._now = now
        self._patience = patience
        self._opening = runtime.Turn(Unavailable)

    async def open(self, places: Iterable[Place], *, for_readers: bool) -> None:
        """Hear of the queues of these names from now on."""
        for place in places:
            until = self._now() + runtime.patience(self._patience)
            introduced = False
            # Again if whoever opened it for all gave up, or the stream was lost.
            while not await self._open(place, until, for_readers=for_readers):
                refusal = self._tower.take_refusal()
                if refusal is not None:
                    self._introduce(refusal, again=introduced)
                    introduced = True
                elif self._now() >= until:
                    # A proxy does not count a watch that it refused: on another stream the numbers agree again.
                    self._ear.close()
                    raise Unavailable(f"etcd at {self._link.endpoints} did not confirm a watch")

    def _introduce(self, refusal: str, *, again: bool) -> None:
        """Have the stream opened anew, by whom we say then that we are: of one that is open etcd believes only what was
        said when it was opened, and takes no more watches on it once the users have changed."""
        endpoints = self._link.endpoints
        if again or endpoints.credentials is None:
            error = RpcError(PERMISSION_DENIED, refusal)
            error.where = endpoints
            raise explain(error)
        endpoints.token = None
        self._ear.close()

    async def _open(self, place: Place, until: float, *, for_readers: bool) -> bool:
        """Open a watch, or wait until another has; whether it is open."""
        # Until the first has said what it has to, the stream may not be there yet: nobody waits on it before.
        async with self._opening:
            if self._now() >= until:
                return False
            view, waiter, new = self._tower.open(place, for_readers=for_readers)
            try:
                if new:
                    await self._say(self._tower.words(view))
            except BaseException:
                self._tower.drop(view)
                raise
        try:
            while not (view.is_live or view.is_over or self._now() >= until):
                await self._ear.wait(waiter, until)
                # Before it is looked how the view stands, so that what comes after is not missed.
                waiter.stirred = False
                if new:
                    await self._say(self._tower.words(view))
            if new and view.is_live:
                await self._say(self._tower.words(view))
            return view.is_live
        finally:
            # Only one says what is to be said: without it, the others begin anew.
            if new and not view.is_live:
                self._tower.drop(view)

    async def tidy(self) -> None:
        """End the watches that nobody needs any more."""
        for view in self._tower.idle():
            if self._tower.is_empty:
                self._ear.close()
            elif self._ear.is_open and view.number is not None:
                try:
                    await self._say([ask.unwatch(view.number)])
                except EngineError:
                    # The stream is lost, and with it every watch: whoever waits opens another.
                    return

    async def _say(self, words: "Iterable[bytes | Callable[[int], bytes]]") -> None:
        for each in words:
            if isinstance(each, bytes):
                await self._ear.say(each, self._link)
            else:
                await self._ear.watch(each, self._link)
