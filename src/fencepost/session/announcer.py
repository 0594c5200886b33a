"""Hands events to whoever subscribed."""

import sys
from collections.abc import Callable

from fencepost.core.event import Event
from fencepost.core.shown import shown

Listener = Callable[[Event], object]


class Announcer:
    """Calls listeners in the thread where the event happens; what a listener raises is reported, never passed on.

    `wanted` lets busy paths skip making an event that nobody listens to.
    """

    __slots__ = ("_listeners", "wanted")

    def __init__(self) -> None:
        self._listeners: tuple[tuple[Listener, tuple[type[Event], ...]], ...] = ()
        self.wanted: frozenset[type[Event]] = frozenset()

    def subscribe(self, listener: Listener, *kinds: type[Event]) -> Callable[[], None]:
        """Call `listener` with every event of these kinds, or of any; the answer ends the subscription."""
        if not callable(listener):
            raise TypeError(f"a listener is a function that takes an event, not {type(listener).__name__}")
        for kind in kinds:
            if not isinstance(kind, type) or not issubclass(kind, Event):
                # `fencepost.Lost`, which is raised, and `event.Lost`, which is told, are easily mixed up.
                raise TypeError(f"{shown(kind)} is no kind of event: take one of fencepost.core.event")
        entry = (listener, kinds or tuple(_kinds(Event)))
        self._change((*self._listeners, entry))

        def unsubscribe() -> None:
            self._change(tuple(each for each in self._listeners if each is not entry))

        return unsubscribe

    def _change(self, listeners: tuple[tuple[Listener, tuple[type[Event], ...]], ...]) -> None:
        self._listeners = listeners
        self.wanted = frozenset(kind for _, kinds in listeners for kind in kinds)

    def __call__(self, event: Event) -> None:
        kind = type(event)
        for listener, kinds in self._listeners:
            if kind in kinds:
                try:
                    listener(event)
                except KeyboardInterrupt:
                    raise
                except BaseException:
                    # Also a SystemExit: it would end the keeper or the alarms, and not the program.
                    sys.excepthook(*sys.exc_info())


def _kinds(base: type[Event]) -> list[type[Event]]:
    return [kind for each in base.__subclasses__() for kind in (each, *_kinds(each))]
