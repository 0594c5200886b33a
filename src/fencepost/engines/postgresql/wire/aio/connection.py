"""Asynchronous connections: the event loop reads what comes, whoever asked for it."""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from weakref import WeakSet

from psycopg import OperationalError, pq

from fencepost._runtime import aio as runtime
from fencepost._runtime import fork
from fencepost._runtime.clock import LONGEST_NAP, boottime
from fencepost._runtime.readiness import READ
from fencepost.engines.postgresql.address import Address
from fencepost.engines.postgresql.dial import dial
from fencepost.engines.postgresql.query import Parameter, Query, bound, check
from fencepost.engines.postgresql.trouble import late, lost
from fencepost.engines.postgresql.wire.size import LARGEST, received
from fencepost.errors import Unsupported

COPYING = (pq.ExecStatus.COPY_IN, pq.ExecStatus.COPY_OUT, pq.ExecStatus.COPY_BOTH)
LEAST_DIAL = 1.0
# The schema is made once, and whoever comes while it is being made waits for that.
SCRIPT_PATIENCE = 5.0
NO_READERS = (
    "postgresql needs an event loop with add_reader, and this one has none: on Windows use asyncio.SelectorEventLoop"
)
Result = pq.abc.PGresult


class Connection:
    """One session at the server. `pooled`: a pooler may be in between, for all that we know."""

    # Until it has a descriptor; whoever makes it may be interrupted.
    _is_open = False

    def __init__(self, conn: pq.abc.PGconn, address: Address, patience: float) -> None:
        self._conn = conn
        # So that no send makes the loop wait for a server that does not read.
        conn.nonblocking = 1
        self.address = address
        # Of our own: libpq closes its descriptor as soon as it sees the end, and the number is used again.
        # By a step of a loop, which is no call: a signal handler that raises after one would leave it open for ever.
        for self.fileno in map(socket.dup, (conn.socket,)):
            pass
        self.pid = conn.backend_pid
        self.pooled = True
        self._patience = patience
        self._bound = bound(patience)
        self._loop = asyncio.get_running_loop()
        self._prepared: set[bytes] = set()
        # What is being prepared: its answer may come when nobody waits for it any more.
        self._preparing: bytes | None = None
        self._turn = runtime.Mutex()
        self._owing = False
        self._result: Result | None = None
        # How much had come when the answer that is owed turned out to come in pieces.
        self._before: int | None = None
        self._reply: asyncio.Future[Result | None] | None = None
        self._is_open = True
        self._on_end: Callable[[], object] | None = None
        self.on_notice: Callable[[bytes], object] | None = None
        self._loop.add_reader(self.fileno, self._readable)
        _open.add(self)

    @property
    def is_open(self) -> bool:
        return self._is_open and self._conn.status == pq.ConnStatus.OK

    @property
    def owes(self) -> bool:
        """Whether an answer is still to come."""
        return self._owing

    async def call(self, query: Query, *parameters: Parameter) -> Result:
        """The result of one statement. `Unavailable` if it does not come in time: then it is owed."""
        async with self._turn:
            await self._send(query, parameters)
            return await self._within(self._patience)

    async def ask(self, query: Query, parameters: tuple[Parameter, ...], milliseconds: int) -> Result | None:
        """The result, or None if it is not there in time: then it is owed, and `finish` may wait for it.

        For whoever has the connection to itself.
        """
        await self._send(query, parameters)
        return await self._within(milliseconds / 1000) if await self._settled(milliseconds / 1000) else None

    async def finish(self, until: float) -> Result | None:
        """The result that `ask` did not stay for, or None if it is not there at `until`."""
        while self._owing and (left := until - boottime()) > 0:
            await self._settled(min(left, LONGEST_NAP))
        return None if self._owing else await self._within(0.0)

    async def script(self, text: str, patience: float = 0.0) -> Result:
        """The last result of several statements in one go, as one transaction."""
        async with self._turn:
            if self._owing:
                await self._pay()
            self._submit(lambda: self._conn.send_query(text.encode()))
            return await self._within(patience or max(self._patience, SCRIPT_PATIENCE))

    async def _send(self, query: Query, parameters: tuple[Parameter, ...]) -> None:
        if self._owing:
            await self._pay()
        if self.pooled:
            self._submit(lambda: self._conn.send_query_params(query.alone(self._bound), parameters))
            return
        if query.name not in self._prepared:
            self._submit(lambda: self._conn.send_prepare(query.name, query.text), preparing=query.name)
            await self._within(self._patience)
        self._submit(lambda: self._conn.send_query_prepared(query.name, parameters))

    def _submit(self, send: Callable[[], None], *, preparing: bytes | None = None) -> None:
        if not self._is_open:
            raise lost(self.address, "it was closed here")
        self._result = self._before = None
        self._preparing = preparing
        self._owing = True
        try:
            send()
            if self._conn.flush():
                self._loop.add_writer(self.fileno, self._writable)
        except OperationalError as error:
            self._end()
            raise lost(self.address, str(error)) from error
        except BaseException:
            # A signal handler raised: nobody knows what is owed now.
            self._end()
            raise

    async def _pay(self) -> None:
        """Wait for what somebody did not stay for, whatever it is."""
        if not await self._settled(self._patience):
            raise late(self.address, self._patience)

    async def _within(self, seconds: float) -> Result:
        if not await self._settled(seconds):
            raise late(self.address, seconds)
        result, self._result = self._result, None
        if result is None:
            raise lost(self.address, "the server closed it")
        return check(result)

    async def _settled(self, timeout: float) -> bool:
        """Whether nothing is owed, within `timeout` seconds."""
        if self._owing:
            future = self._reply = self._loop.create_future()
            timer = self._loop.call_later(timeout, _resolve, future)
            try:
                await future
            finally:
                timer.cancel()
                self._reply = None
        return not self._owing

    def _writable(self) -> None:
        try:
            if not self._conn.flush():
                self._loop.remove_writer(self.fileno)
        except OperationalError:
            self._end()
        except BaseException:
            self._end()
            raise

    def _readable(self) -> None:
        conn = self._conn
        try:
            conn.consume_input()
            while self._owing and not conn.is_busy():
                found = conn.get_result()
                if found is None:
                    self._settle()
                elif found.status in COPYING:
                    # There is no end to it, unless we take part.
                    raise OperationalError("it copies data that nobody asked for")
                elif self._result is None or self._result.status != pq.ExecStatus.FATAL_ERROR:
                    self._result = found
            while (notify := conn.notifies()) is not None:
                if self.on_notice is not None:
                    self.on_notice(notify.extra)
            ended = conn.status != pq.ConnStatus.OK or (self._owing and self._says_too_much())
        except OperationalError:
            ended = True
        except BaseException:
            # A signal handler raised: what was read may have been for anybody.
            self._end()
            raise
        if ended:
            self._end()

    def _says_too_much(self) -> bool:
        """Whether an answer that is not complete yet is larger than any that is meant."""
        count = received(self.fileno)
        if self._before is None:
            self._before = count
        return count - self._before > LARGEST

    def _end(self) -> None:
        """It was not we who closed it."""
        callback = self._on_end
        self.close()
        if callback is not None:
            callback()

    def _settle(self) -> None:
        self._owing = False
        preparing, self._preparing = self._preparing, None
        if preparing is not None and self._result is not None and self._result.status != pq.ExecStatus.FATAL_ERROR:
            # Not before: a statement that is not there could never be run, and one of that name never made.
            self._prepared.add(preparing)
        if self._reply is not None:
            _resolve(self._reply)

    async def hears(self, speak: Callable[[], Awaitable[None]], seconds: float) -> bool:
        """Whether anything is told on a channel that it listens to, within `seconds` after somebody spoke."""
        heard = asyncio.Event()
        self.on_notice = lambda _: heard.set()
        await speak()
        try:
            async with asyncio.timeout(seconds):
                await heard.wait()
        except TimeoutError:
            return False
        return True

    def on_end(self, callback: Callable[[], object]) -> None:
        """Call back as soon as the server ends the connection, also while nobody waits for anything."""
        self._on_end = callback
        if not self._is_open:
            callback()

    def wake(self) -> None:
        """End it for whoever waits on it."""
        self.close()

    def close(self) -> None:
        if self._is_open:
            self._is_open = False
            self._on_end = None
            try:
                if not self._loop.is_closed():
                    self._loop.remove_reader(self.fileno)
                    self._loop.remove_writer(self.fileno)
                _open.discard(self)
            finally:
                # Also if a signal handler raises: as long as one of the two is open, the server keeps what is locked.
                try:
                    socket.close(self.fileno)
                finally:
                    self._conn.finish()
                    self._settle()

    def __del__(self) -> None:
        # Whoever was interrupted on the way to closing it is told nothing: it is closed all the same.
        self.close()

    def disown(self) -> None:
        """In a forked child: the connection is the parent's, so nothing is said, and the child's copy is shut."""
        self._is_open = False
        for descriptor in {self.fileno, self._conn.socket if self._conn.status == pq.ConnStatus.OK else self.fileno}:
            socket.close(descriptor)


def _resolve(future: "asyncio.Future[Result | None]") -> None:
    if not future.done():
        future.set_result(None)


_open: "WeakSet[Connection]" = WeakSet()


def _forked() -> None:
    for connection in list(_open):
        connection.disown()
    _open.clear()


fork.in_child(_forked)


async def connect(address: Address, patience: float) -> Connection:
    """A connection that the server has let in. That takes a new process there, so it gets a little longer."""
    patience, wanted = max(patience, LEAST_DIAL), patience
    steps = dial(address, patience)
    try:
        step = next(steps)
        while True:
            step = steps.send(await _came(*step))
    except StopIteration as done:
        return Connection(done.value, address, wanted)
    finally:
        steps.close()


async def _came(fileno: int, event: int, seconds: float) -> bool:
    """Whether the event came in time."""
    loop = asyncio.get_running_loop()
    future = loop.create_future()
    add, remove = (loop.add_reader, loop.remove_reader) if event == READ else (loop.add_writer, loop.remove_writer)
    try:
        add(fileno, _resolve, future)
    except NotImplementedError as error:
        raise Unsupported(NO_READERS) from error
    try:
        async with asyncio.timeout(seconds):
            await future
    except TimeoutError:
        return False
    finally:
        remove(fileno)
    return True
