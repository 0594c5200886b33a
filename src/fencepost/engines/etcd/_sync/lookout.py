# Generated from src/fencepost/engines/etcd/_async/lookout.py by tools/unasync.py. Do not edit: run `make gen`.
"""Opening and ending the watches of a session, on its one stream."""

from collections.abc import Callable, Iterable

from fencepost._runtime import threads as runtime
from fencepost.drivers.etcd import request as ask
from fencepost.drivers.etcd.wire import threads as wire
from fencepost.engines.etcd.key import Place
from fencepost.engines.etcd.watchtower import Watchtower
from fencepost.errors import EngineError, Unavailable


class Lookout:
    def __init__(
        self, tower: Watchtower, ear: wire.Ear, link: wire.Link, *, now: Callable[[], float], patience: float
    ) -> None:
        self._tower = tower
        self._ear = ear
        self._link = link
        self._now = now
        self._patience = patience

    def open(self, places: Iterable[Place], *, for_readers: bool) -> None:
        """Hear of the queues of these names from now on."""
        for place in places:
            view, waiter, new = self._tower.open(place, for_readers=for_readers)
            until = self._now() + runtime.patience(self._patience)
            try:
                while True:
                    # Before it is looked how the view stands, so that what comes after is not missed.
                    waiter.stirred = False
                    if new:
                        self._say(self._tower.words(view))
                    if view.is_live or view.is_over or self._now() >= until:
                        break
                    self._ear.wait(waiter, until)
            finally:
                if not view.is_live:
                    self._tower.drop(view)
            if not view.is_live:
                raise Unavailable(f"etcd at {self._link.endpoints} did not confirm a watch")

    def tidy(self) -> None:
        """End the watches that nobody needs any more."""
        for view in self._tower.idle():
            if self._tower.is_empty:
                self._ear.close()
            elif self._ear.is_open:
                try:
                    self._say([ask.unwatch(view.number)])
                except EngineError:
                    # The stream is lost, and with it every watch: whoever waits opens another.
                    return

    def _say(self, words: Iterable[bytes]) -> None:
        for each in words:
            self._ear.say(each, self._link)
