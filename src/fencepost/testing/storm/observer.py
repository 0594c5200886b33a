"""A thread that wants to run all the time, and writes down when it did not: what a slow machine may be blamed for."""

import threading

from fencepost._runtime.clock import boottime
from fencepost.testing.storm.history import Log, Stalled

TICK = 0.01
# What is late by less is no excuse: the slack is for that.
NOTED = 0.03


class Observer:
    def __init__(self, who: str, log: Log) -> None:
        self._who = who
        self._log = log
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="fencepost-observer", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        last = boottime()
        while not self._over.wait(TICK):
            now = boottime()
            if now - last > NOTED:
                self._log.write(Stalled(last, self._who, now))
            last = now
