"""A program with a timer: again and again a signal comes, whose handler does nothing of note."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

# How long it ticks at most: whoever waits for that has not kept its time. And a part of it, enough on a busy machine.
LASTING, SOON = 20.0, 10.0
# In seconds: many within the shortest time-out of a test.
PERIOD = 0.02


@contextmanager
def ticking() -> Iterator[threading.Event]:
    """The main thread is interrupted so often inside. The event is set once it has ticked for as long as it may."""
    before = signal.signal(signal.SIGUSR1, lambda *_: None)
    over, tired = threading.Event(), threading.Event()

    def tick() -> None:
        for _ in range(int(LASTING / PERIOD)):
            if over.wait(PERIOD):
                return
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGUSR1)
        tired.set()

    thread = threading.Thread(target=tick, daemon=True)
    thread.start()
    try:
        yield tired
    finally:
        over.set()
        thread.join()
        signal.signal(signal.SIGUSR1, before)
