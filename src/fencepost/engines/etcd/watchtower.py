"""What this session hears of the queues it waits in: one view for each name, fed by one watch stream.

Readers have views of their own: theirs hear more, which would only disturb the others.
"""

from collections.abc import Callable, Collection, Mapping
from functools import partial

from fencepost._runtime.state import StateLock
from fencepost.drivers.etcd import answer, request
from fencepost.drivers.etcd.waiter import Waiter
from fencepost.engines.etcd.key import Place
from fencepost.engines.etcd.lease import Entry
from fencepost.engines.etcd.queue import granted
from fencepost.engines.etcd.record import Contender
from fencepost.engines.etcd.view import View

# How often a watch that may lag is replaced by the next, until it is taken as it is.
MOST_DOUBTS = 5
# How long a watch is kept open for nobody: the next to wait for that name need not open one.
LINGER = 1.0


class Watchtower:
    """The views, and who is told when they change. It does no I/O; the engine says what it is given to say."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._lock = StateLock()
        self._views: dict[tuple[str, bool], View] = {}
        self._by_number: dict[int, View] = {}
        self._refusal: str | None = None

    def open(self, place: Place, *, for_readers: bool = False) -> tuple[View, Waiter, bool]:
        """The view of a name, who is stirred when it is live, and whether its watch has yet to be asked for."""
        with self._lock:
            view = self._views.get((place.name, for_readers))
            if view is not None and view.is_over:
                view = None
            new = view is None
            if view is None:
                view = View(place, for_readers=for_readers)
                self._views[place.name, for_readers] = view
            view.idle_at = self._now()
            waiter = Waiter()
            waiter.stirred = view.is_live
            if not view.is_live:
                view.openers.append(waiter)
            return view, waiter, new

    def words(self, view: View) -> "list[bytes | Callable[[int], bytes]]":
        """What whoever opens the view is to say now, on and on until it is live, and once then. A watch is asked for in
        words that are made when its number is known.

        Two watches are opened, one right after the other. etcd opens a watch at the revision after the one that it has
        just looked up. If something is written in between, that is in the past already, and the watch is told
        of nothing before a loop that runs every 100 ms has caught up with it. If the second was opened at the same
        revision as the first, nothing came between.
        """
        with self._lock:
            ended, view.surplus = view.surplus, None
            said = [] if ended is None else [request.unwatch(ended)]
            lacking = 0 if view.is_live or view.is_over else 2 if view.number is None else 1
            return [*said, *[partial(self._watch, view)] * lacking]

    def _watch(self, view: View, number: int) -> bytes:
        with self._lock:
            if not view.is_over:
                self._by_number[number] = view
                if view.number is None:
                    view.number = number
                else:
                    view.witness = number
            return request.watch_range(number, view.place.start, view.place.end, writes=view.for_readers)

    def drop(self, view: View) -> None:
        """It hears no more."""
        with self._lock:
            self._drop(view)

    def drop_all(self) -> None:
        with self._lock:
            for view in list(self._views.values()):
                self._drop(view)

    def drop_deaf(self) -> None:
        """There is no stream: nothing is heard any more, also if whoever ended it was kept from saying so."""
        with self._lock:
            for view in list(self._views.values()):
                if view.is_live:
                    self._drop(view)

    def _drop(self, view: View) -> None:
        for number in (view.number, view.witness):
            # On another stream it is another's by now.
            if number is not None and self._by_number.get(number) is view:
                del self._by_number[number]
        if self._views.get((view.place.name, view.for_readers)) is view:
            del self._views[view.place.name, view.for_readers]
        view.is_live = False
        view.is_over = True
        for waiter in [*view.openers, *(entry.waiter for entry in view.entries.values())]:
            waiter.stir()

    def hear(self, message: bytes) -> None:
        news = answer.news(message)
        with self._lock:
            view = self._by_number.get(news.watch)
            if news.created and news.ended is not None:
                self._refuse(view, news.ended)
                return
            if view is None:
                return
            if news.ended is not None:
                self._drop(view)
            elif news.created:
                self._created(view, news.watch, news.revision)
            elif news.watch == view.number and view.hear(news.events):
                self._tell(view)
                view.await_ends()

    def _refuse(self, view: View | None, reason: str) -> None:
        """A watch was not let in; newer servers do not say which."""
        self._refusal = reason
        for each in [view] if view is not None else [each for each in self._views.values() if not each.is_live]:
            self._drop(each)

    def take_refusal(self) -> str | None:
        """Why a watch was not let in, if one was since this was last asked."""
        with self._lock:
            refusal, self._refusal = self._refusal, None
            return refusal

    def _tell(self, view: View) -> None:
        for entry in list(view.entries.values()):
            if self._concerns(view, entry):
                entry.waiter.stir()

    def _created(self, view: View, number: int, revision: int) -> None:
        if not view.live_from:
            # Whichever of the two comes first: a proxy may turn them round.
            if number != view.number:
                view.number, view.witness = number, view.number
            view.live_from = revision
        elif revision == view.live_from or view.doubts >= MOST_DOUBTS:
            self._by_number.pop(number, None)
            view.surplus = number
            view.is_live = True
            while view.openers:
                view.openers.pop().stir()
        else:
            # The first may lag: the second takes its place, and needs a witness of its own.
            view.doubts += 1
            if view.number is not None:
                self._by_number.pop(view.number, None)
            view.surplus, view.number, view.live_from = view.number, number, revision
            view.openers[0].stir()

    def _concerns(self, view: View, entry: Entry) -> bool:
        """Whether this one is granted now, or is not in the queue any more."""
        return (view.place.name in entry.held and not view.has(entry)) or self._has_won(entry)

    def _has_won(self, entry: Entry) -> bool:
        """Whether the views say so: all that stood in its way has left, and its own keys were there then."""
        views = [self._views.get((place.name, entry.is_reader)) for place in entry.places]
        if not all(view is not None and view.is_live and view.has(entry) for view in views):
            return False
        if entry.is_plain and views[0] is not None:
            return views[0].is_first(entry)
        queues = {name: view.queue for (name, _), view in self._views.items() if view.for_readers is entry.is_reader}
        return entry.who in granted(queues, entry.created)

    def station(self, entry: Entry, queues: Mapping[str, Collection[Contender]], revision: int) -> bool:
        """From now on the entry is told. False if a change might be missed: a watch is not open, or was not when
        the queues were read."""
        with self._lock:
            views = [view for name in queues if (view := self._views.get((name, entry.is_reader))) is not None]
            if len(views) < len(queues) or not all(view.knows_since(revision) for view in views):
                return False
            entry.waiter.stirred = False
            ahead = [view for view in views if view.take_in(queues[view.place.name], revision)]
            for view in ahead:
                # From now on the watch brings no news of those ends: those who waited for them are told here.
                self._tell(view)
            for view in views:
                view.entries[id(entry)] = entry
                view.await_ends()
            if any(self._concerns(view, entry) for view in views):
                entry.waiter.stir()
            return True

    def has_won(self, entry: Entry) -> bool:
        with self._lock:
            return self._has_won(entry)

    def leave(self, entry: Entry) -> None:
        """The entry waits no more."""
        with self._lock:
            for view in self._views.values():
                if view.entries.pop(id(entry), None) is not None:
                    view.idle_at = self._now()
                    view.await_ends()

    def idle(self) -> list[View]:
        """The views that nobody has waited in for a while, dropped; their watches are to be ended."""
        with self._lock:
            before = self._now() - LINGER
            found = [
                view for view in self._views.values() if view.is_live and not view.entries and view.idle_at < before
            ]
            for view in found:
                self._drop(view)
            return found

    @property
    def is_empty(self) -> bool:
        return not self._views
