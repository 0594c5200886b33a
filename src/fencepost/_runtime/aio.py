"""What the asynchronous sources run on: asyncio."""

import asyncio
import math
import socket
from collections.abc import Awaitable, Callable, Coroutine
from types import TracebackType
from typing import Any, ClassVar, Protocol, TypeAlias, TypeVar

from fencepost._runtime.clock import LONGEST_NAP, boottime
from fencepost._runtime.timeout import DONTWAIT

T = TypeVar("T")
Work: TypeAlias = Callable[[], Coroutine[Any, Any, T]]
Mutex = asyncio.Lock
Cancelled = asyncio.CancelledError
sleep = asyncio.sleep
in_thread = asyncio.to_thread


class Turn(asyncio.Lock):
    """A mutex that one keeps while it waits for a server. Whoever waits for it can be cancelled."""

    def __init__(self, late: type[Exception], patience: float = math.inf) -> None:
        super().__init__()


class Event:
    """A flag that tasks wait for and that any thread may set."""

    __slots__ = ("_set", "_waiters")

    def __init__(self) -> None:
        self._set = False
        self._waiters: list[tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]] = []

    def is_set(self) -> bool:
        return self._set

    def set(self) -> None:
        self._set = True
        for loop, future in list(self._waiters):
            if loop is asyncio._get_running_loop():
                _answer(future, None)
            elif not loop.is_closed():
                loop.call_soon_threadsafe(_answer, future, None)

    def clear(self) -> None:
        self._set = False

    async def wait(self, timeout: float | None = None) -> bool:
        """True as soon as the flag is set, False if it is not within `timeout` seconds."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()
        place = (loop, future)
        self._waiters.append(place)
        timer = None if timeout is None else loop.call_later(timeout, _answer, future, None)
        try:
            if not self._set:
                await future
            return self._set
        finally:
            if timer is not None:
                timer.cancel()
            self._waiters.remove(place)


def _answer(future: "asyncio.Future[T]", answer: T) -> None:
    try:
        if not future.done():
            future.set_result(answer)
    except BaseException:
        # A signal handler raised, which the loop may pass over; and nobody else wakes whoever waits.
        if not future.done():
            future.set_result(answer)
        raise


class Alarm(Protocol):
    def cancel(self) -> None: ...


class Clock(Protocol):
    """Time, and the two ways of waiting for it."""

    def now(self) -> float: ...
    async def wait(self, event: Event, until: float) -> bool: ...
    def alarm(self, at: float, callback: Callable[[], object]) -> Alarm: ...


class BootClock:
    """The real clock."""

    now = staticmethod(boottime)

    async def wait(self, event: Event, until: float) -> bool:
        """True as soon as `event` is set, False once the clock shows `until`."""
        while not event.is_set() and (left := until - boottime()) > 0:
            await event.wait(min(left, LONGEST_NAP))
        return event.is_set()

    def alarm(self, at: float, callback: Callable[[], object]) -> Alarm:
        return _Alarm(at, callback)


class _Alarm:
    """Calls back on the event loop, once, when the clock shows `at`."""

    __slots__ = ("_at", "_callback", "_handle", "_loop")

    def __init__(self, at: float, callback: Callable[[], object]) -> None:
        self._at = at
        self._callback = callback
        self._loop = asyncio.get_running_loop()
        self._arm()

    def _arm(self) -> None:
        left = max(0.0, self._at - boottime())
        self._handle = self._loop.call_later(min(left, LONGEST_NAP), self._ring)

    def _ring(self) -> None:
        if boottime() >= self._at:
            self._callback()
        else:
            self._arm()

    def cancel(self) -> None:
        self._handle.cancel()


class Worker:
    """A task of our own, beside the caller's."""

    __slots__ = ("_task",)

    def __init__(self, work: Work[None], name: str) -> None:
        self._task = asyncio.get_running_loop().create_task(work(), name=name)

    def cancel(self) -> None:
        self._task.cancel()

    async def join(self, timeout: float) -> None:
        """Wait for the end, and swallow how it ended."""
        if self._task is not asyncio.current_task():
            await asyncio.wait([self._task], timeout=timeout)


def spawn(work: Work[None], *, name: str) -> Worker:
    return Worker(work, name)


def aside(callback: Callable[[], object], *, name: str) -> None:
    """Call back where that keeps no other thread: here, there is one."""
    callback()


async def shielded(work: Awaitable[T]) -> T:
    """Finish `work` even if the caller is cancelled meanwhile; the cancellation is raised afterwards."""
    if asyncio._get_running_loop() is None:
        # Under another kind of loop nothing was begun, so there is nothing to finish.
        return await work
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError as error:
            if task.cancelled():
                raise
            cancelled = error
        except BaseException:
            break
    if cancelled is not None:
        if not task.cancelled():
            task.exception()
        raise cancelled
    return task.result()


async def readable(fd: int, timeout: float | None) -> bool:
    """Whether `fd` has something to read within `timeout` seconds. One waiter per descriptor."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[bool] = loop.create_future()
    # A timer of the loop: `asyncio.timeout` takes longer, and here it counts.
    timer = None if timeout is None else loop.call_later(timeout, _answer, future, False)
    loop.add_reader(fd, _answer, future, True)
    try:
        return await future
    finally:
        loop.remove_reader(fd)
        if timer is not None:
            timer.cancel()


class Inbox:
    """Datagrams of one socket, `most` bytes of each, for one reader at a time."""

    __slots__ = ("_most", "_source")
    # A loop that stayed awake for one datagram would keep all its tasks waiting.
    catches = False

    def __init__(self, source: socket.socket, most: int) -> None:
        self._source = source
        self._most = most

    async def receive(self, timeout: float) -> bytes | None:
        """The next, or None if there is none within `timeout` seconds."""
        try:
            return self._source.recv(self._most, DONTWAIT)
        except BlockingIOError:
            if not await readable(self._source.fileno(), timeout):
                return None
        try:
            return self._source.recv(self._most, DONTWAIT)
        except BlockingIOError:
            return None

    async def catch(self, seconds: float) -> bytes | None:
        """The next if it comes within so few seconds."""
        return await self.receive(seconds)


def home() -> object:
    """Where everything of a session must run: the event loop that its connections belong to. None outside of one."""
    return asyncio._get_running_loop()


def is_gone(home: object) -> bool:
    """Whether nothing can run there any more."""
    return isinstance(home, asyncio.AbstractEventLoop) and home.is_closed()


def current_flow() -> object:
    """Who is running: the flow of control that a reentrant lock belongs to."""
    return asyncio.current_task()


class Interrupt:
    """Cancels the body of a block once, and tells that cancellation from anybody else's, as asyncio.timeout does."""

    __slots__ = ("_before", "_fired", "_task")

    def __init__(self) -> None:
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("a lock is held by a task: enter it inside one")
        self._task = task
        self._before = task.cancelling()
        self._fired = False

    @property
    def fired(self) -> bool:
        return self._fired

    def fire(self) -> None:
        if not self._fired:
            self._fired = True
            self._task.cancel()

    async def finish(self, error: BaseException | None) -> bool:
        """Whether `error`, which ended the body, is this interrupt's doing."""
        if not self._fired:
            self._fired = True
            return False
        if asyncio.current_task() is not self._task:
            # A generator that another task closes: its cancellations are its own, and so are those of the first.
            return False
        taken: asyncio.CancelledError | None = None
        if not isinstance(error, asyncio.CancelledError):
            try:
                # The body ended before the cancellation reached it: take it out of the task now.
                await asyncio.sleep(0)
            except asyncio.CancelledError as cancelled:
                taken = cancelled
        ours_alone = self._task.uncancel() <= self._before
        if taken is not None and not ours_alone:
            # A task is told but once of several: it was somebody else's as well.
            raise taken
        return ours_alone and isinstance(error, asyncio.CancelledError)


class Limit:
    """Whatever is awaited inside is back when the clock shows `until`, or `late` is raised then.

    Its outcome is unknown, as after any cancellation.
    """

    __slots__ = ("_alarm", "_clock", "_interrupt", "_until")
    late: ClassVar[type[Exception]] = TimeoutError

    def __init__(self, clock: Clock, until: float) -> None:
        self._clock = clock
        self._until = until
        self._alarm: Alarm | None = None

    async def __aenter__(self) -> None:
        if self._until < math.inf:
            self._interrupt = Interrupt()
            self._alarm = self._clock.alarm(self._until, self._interrupt.fire)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            if self._interrupt.fired and await self._interrupt.finish(error):
                raise self.late("the engine did not answer in time")


def time_left() -> float:
    """How long a call may still take that can not be cancelled: here, all can."""
    return math.inf


def patience(seconds: float) -> float:
    """How long to wait for a server, where it is so long if nobody is in a hurry."""
    return seconds


run = asyncio.run
