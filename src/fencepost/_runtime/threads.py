"""What the blocking twins run on: threads. The names and meanings are those of `aio`."""

import _thread
import heapq
import itertools
import math
import socket
import sys
import threading
import time
from collections.abc import Callable
from operator import attrgetter
from types import TracebackType
from typing import Any, ClassVar, Protocol, TypeAlias, TypeVar

from fencepost._runtime import fork
from fencepost._runtime.clock import LONGEST_NAP, boottime
from fencepost._runtime.lock import Lock
from fencepost._runtime.readiness import READ, poll
from fencepost._runtime.state import StateLock
from fencepost._runtime.timeout import DONTWAIT

T = TypeVar("T")
Work: TypeAlias = Callable[[], T]
Mutex = Lock
sleep = time.sleep


class Cancelled(BaseException):
    """Raised in no thread: none can be interrupted from outside."""


class Event(threading.Event):
    """A flag that threads wait for. It has no lock that an exception out of a signal handler could leave taken.

    The one of `threading.Event` is taken by Python code: interrupted right after, nobody would ever let go of it, and
    whoever sets the flag would wait for ever.
    """

    def __init__(self) -> None:
        self._flag = False
        # One lock for each thread that waits, taken until it is woken.
        self._sleepers: list[Any] = []

    def is_set(self) -> bool:
        return self._flag

    def set(self) -> None:
        self._flag = True
        for sleeper in list(self._sleepers):
            try:
                sleeper.release()
            except RuntimeError:
                # Woken before.
                pass

    def clear(self) -> None:
        self._flag = False

    def wait(self, timeout: float | None = None) -> bool:
        """True as soon as the flag is set, False if it is not within `timeout` seconds."""
        if self._flag:
            return True
        sleeper = threading.Lock()
        sleeper.acquire()
        self._sleepers.append(sleeper)
        try:
            return self._flag or sleeper.acquire(timeout=-1 if timeout is None else max(timeout, 0.0))
        finally:
            self._sleepers.remove(sleeper)


class _Calls(threading.local):
    # When the calls of this thread must be back.
    until = math.inf


# To be looked at by those for whom a call of `patience` would show.
calls = _Calls()
# No call goes on for so long after its time: a limit that is still there was left by an exception out of a signal
# handler, as the last thing that its block did. It must not end the calls of this thread for ever.
LEFT_OVER = 1.0


class Limit:
    """Whatever waits for a server inside is back when the clock shows `until`, by an error of its own.

    A thread can not be interrupted: who waits, asks `time_left` first.
    """

    __slots__ = ("_before", "_until")
    late: ClassVar[type[Exception]] = TimeoutError

    def __init__(self, clock: "Clock", until: float) -> None:
        # On the clock that connections use, whatever clock the session has.
        self._until = until if until == math.inf else boottime() + until - clock.now()

    def __enter__(self) -> None:
        self._before = _until()
        calls.until = min(self._before, self._until)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        calls.until = self._before


def _until() -> float:
    until = calls.until
    if until < math.inf and boottime() > until + LEFT_OVER:
        until = calls.until = math.inf
    return until


def time_left() -> float:
    """How many seconds a call of this thread may still take; infinite if nobody said."""
    until = _until()
    return until if until == math.inf else max(0.0, until - boottime())


def patience(seconds: float) -> float:
    """How long to wait for a server, where it is so long if nobody is in a hurry. Never 0, which means for ever."""
    until = _until()
    return seconds if until == math.inf else max(0.001, min(seconds, until - boottime()))


class Turn:
    """A mutex that one keeps while it waits for a server, as others want to.

    A caller with little time does not wait for the time of another: `late` is raised when its own is over, or after
    `patience` seconds. As in `lock.Lock`, the lock is taken by a step of a loop, where no signal handler runs before
    the block is entered.
    """

    __slots__ = ("_acquire", "_late", "_leave", "_patience")

    def __init__(self, late: type[Exception], patience: float = math.inf) -> None:
        lock = threading.Lock()
        self._late = late
        self._patience = patience
        self._acquire = lock.acquire
        self._leave = lock.__exit__

    def __enter__(self) -> None:
        left = min(time_left(), self._patience)
        for taken in map(self._acquire, (True,), (-1 if left == math.inf else left,)):
            if taken:
                return
        raise self._late("another waits for the server, and did not have an answer in time")

    __exit__: Any = property(attrgetter("_leave"))


def in_thread(function: Callable[..., T], *args: object) -> T:
    """The caller has a thread of its own already."""
    return function(*args)


def start(thread: threading.Thread) -> None:
    """Start it by another, in which no signal handler runs.

    `Thread.start` takes locks in Python code. Interrupted there by a handler that raises, it may leave one taken, and
    the new thread waits for it for ever; or it raises a `RuntimeError` of its own in place of what the handler raised.
    """
    failed: list[Exception] = []
    over = Event()

    def begin() -> None:
        try:
            thread.start()
        except Exception as error:
            failed.append(error)
        finally:
            over.set()

    _thread.start_new_thread(begin, ())
    over.wait()
    if failed:
        raise failed[0]


class Alarm(Protocol):
    def cancel(self) -> None: ...


class Clock(Protocol):
    """Time, and the two ways of waiting for it."""

    def now(self) -> float: ...
    def wait(self, event: Event, until: float) -> bool: ...
    def alarm(self, at: float, callback: Callable[[], object]) -> Alarm: ...


class BootClock:
    """The real clock."""

    now = staticmethod(boottime)

    def wait(self, event: Event, until: float) -> bool:
        """True as soon as `event` is set, False once the clock shows `until`."""
        while not event.is_set() and (left := until - boottime()) > 0:
            event.wait(min(left, LONGEST_NAP))
        return event.is_set()

    def alarm(self, at: float, callback: Callable[[], object]) -> Alarm:
        return _bell.ring_at(at, callback)


class _Alarm:
    __slots__ = ("callback",)

    def __init__(self, callback: Callable[[], object]) -> None:
        self.callback: Callable[[], object] | None = callback

    def cancel(self) -> None:
        self.callback = None


class _Bell:
    """Rings every alarm of the process, however many sessions there are, and however long a callback takes.

    One daemon thread at a time waits for the next alarm. Before it calls back, it starts another to wait for the rest.
    No lock is taken by Python code: an exception out of a signal handler could leave it taken, and no alarm would ring.
    """

    def __init__(self) -> None:
        self._alarms: list[tuple[float, int, _Alarm]] = []
        self._order = itertools.count()
        self._state = StateLock()
        self._changed = Event()
        # Taken by the thread that waits, itself: whoever starts one may be interrupted, or told that there can be none.
        self._role = threading.Lock()

    def ring_at(self, at: float, callback: Callable[[], object]) -> Alarm:
        alarm = _Alarm(callback)
        with self._state:
            heapq.heappush(self._alarms, (at, next(self._order), alarm))
        if not self._role.locked():
            self._start()
        self._changed.set()
        return alarm

    def _start(self) -> None:
        start(threading.Thread(target=self._run, name="fencepost-alarms", daemon=True))

    def _run(self) -> None:
        while self._role.acquire(blocking=False):
            try:
                alarm = self._next_due()
            finally:
                self._role.release()
            callback = alarm.callback
            if callback is not None:
                try:
                    self._start()
                except RuntimeError:
                    # No more threads are to be had: this one comes back.
                    pass
                try:
                    callback()
                except BaseException:
                    # Whatever it was: it may be this thread that waits for the next.
                    sys.excepthook(*sys.exc_info())

    def _next_due(self) -> _Alarm:
        while True:
            self._changed.clear()
            with self._state:
                while self._alarms and self._alarms[0][2].callback is None:
                    heapq.heappop(self._alarms)
                left = self._alarms[0][0] - boottime() if self._alarms else LONGEST_NAP
                if left <= 0:
                    return heapq.heappop(self._alarms)[2]
                waiting = bool(self._alarms)
            self._changed.wait(min(left, LONGEST_NAP) if waiting else None)


_bell = _Bell()


def _forked() -> None:
    # Threads do not survive a fork, and a lock held by one would stay locked.
    global _bell
    _bell = _Bell()


fork.in_child(_forked)


class Worker:
    """A thread of our own, beside the caller's."""

    __slots__ = ("_thread",)

    def __init__(self, work: Work[None], name: str) -> None:
        self._thread = threading.Thread(target=work, name=name, daemon=True)
        start(self._thread)

    def cancel(self) -> None:
        """A thread can not be interrupted: it ends when the call it is in returns."""

    def join(self, timeout: float) -> None:
        if self._thread is not threading.current_thread():
            self._thread.join(timeout)


def spawn(work: Work[None], *, name: str) -> Worker:
    return Worker(work, name)


def aside(callback: Callable[[], object], *, name: str) -> None:
    """Call back where that keeps no other thread, however long it takes."""
    try:
        start(threading.Thread(target=callback, name=name, daemon=True))
    except RuntimeError:
        # No more threads are to be had.
        callback()


def shielded(result: T) -> T:
    """The work is done by the time this is called."""
    return result


def readable(fd: int, timeout: float | None) -> bool:
    """Whether `fd` has something to read within `timeout` seconds. One waiter per descriptor."""
    waiting = poll()
    waiting.register(fd, READ)
    return bool(waiting.poll(None if timeout is None else math.ceil(timeout * 1000)))


class Inbox:
    """Datagrams of one socket, `most` bytes of each, for one reader at a time.

    `poll` keeps the time: the kernel's time-out of a read would begin anew after every signal.
    """

    __slots__ = ("_most", "_poll", "_source")
    catches = True

    def __init__(self, source: socket.socket, most: int) -> None:
        self._source = source
        self._most = most
        self._poll = poll()
        self._poll.register(source, READ)

    def receive(self, timeout: float) -> bytes | None:
        """The next, or None if there is none within `timeout` seconds."""
        if not self._poll.poll(math.ceil(timeout * 1000)):
            return None
        try:
            return self._source.recv(self._most, DONTWAIT)
        except BlockingIOError:
            return None

    def catch(self, seconds: float) -> bytes | None:
        """The next if it comes within so few seconds: awake until then, so that nobody has to wake us."""
        look, until = self._poll.poll, boottime() + seconds
        while not look(0):
            if boottime() >= until:
                return None
        return self._source.recv(self._most, DONTWAIT)


_PROCESS = object()


def home() -> object:
    """Where everything of a session must run: any thread of this process will do."""
    return _PROCESS


def is_gone(home: object) -> bool:
    return False


def current_flow() -> object:
    """Who is running: the flow of control that a reentrant lock belongs to."""
    return threading.current_thread()


class Interrupt:
    """A thread can not be interrupted from outside: the body sees `grant.lost`, and leaving the block raises."""

    __slots__ = ()

    def fire(self) -> None: ...

    def finish(self, error: BaseException | None) -> bool:
        return False


def run(result: T) -> T:
    """The work is done by the time this is called."""
    return result
