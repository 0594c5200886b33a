"""Locks of threads whose `with` no exception out of a signal handler leaves locked."""

import sys
import threading
from operator import attrgetter
from typing import Any

if sys.version_info[:2] == (3, 14):

    class Lock:
        """Python 3.14 runs signal handlers also between `__enter__` and the block, where nothing would unlock.

        It does so after any call. So the lock is taken here by a step of a loop, which is no call, and `__exit__` is
        that of the lock itself: at the start of one in Python, a handler would run before anything is unlocked.
        """

        __slots__ = ("_leave", "acquire", "locked", "release")
        kind: Any = staticmethod(threading.Lock)

        def __init__(self) -> None:
            lock = self.kind()
            self.acquire, self.release, self.locked = lock.acquire, lock.release, lock.locked
            self._leave = lock.__exit__

        def __enter__(self) -> None:
            for _ in map(self.acquire, (True,)):
                return

        __exit__ = property(attrgetter("_leave"))

    class RLock(Lock):
        __slots__ = ()
        kind = staticmethod(threading.RLock)

else:
    Lock = threading.Lock
    RLock = threading.RLock
