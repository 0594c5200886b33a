"""Asynchronous connections to all nodes: one to each for all callers, and one more to listen."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any, TypeVar

from fencepost._runtime import aio as runtime
from fencepost._runtime.clock import LONGEST_NAP, boottime
from fencepost._runtime.protocol import INTERRUPTED
from fencepost.engines.redis.address import Address
from fencepost.engines.redis.redlock.ballot import GRACE, PENDING, Ballot, any_reply
from fencepost.engines.redis.redlock.script import CLAIMS, GIVING_BACK
from fencepost.engines.redis.redlock.waiter import Waiter
from fencepost.engines.redis.resp import Reply, ReplyError, message_of, pack
from fencepost.engines.redis.script import Script
from fencepost.engines.redis.trouble import explain, strange, unreachable
from fencepost.engines.redis.wire.aio import Connection, connect
from fencepost.errors import EngineError, Unavailable

T = TypeVar("T")
CLOSED = "the connections to the nodes were closed here"
DEAF = "fewer connections than a majority are left on which nodes tell of votes"


class Fleet:
    """`loads` are scripts that a node is to know as soon as it is met."""

    def __init__(self, nodes: Sequence[Address], timeout: float, loads: Sequence[Script] = GIVING_BACK) -> None:
        self._nodes = nodes
        self._timeout = timeout
        self._loads = loads
        self._connections: list[Connection | None] = [None] * len(nodes)
        self._connecting: list[asyncio.Task[Connection] | None] = [None] * len(nodes)
        self._tasks: set[asyncio.Task[Any]] = set()
        self._closed = False

    async def ask(
        self,
        script: Script | None,
        commands: Sequence[bytes],
        ballot: Ballot,
        after: Sequence[Ballot] = (),
        late: Callable[[], Sequence[bytes]] = tuple,
    ) -> None:
        """Say to each node its command, and return when the ballot is decided, or the nodes' time is over.

        A node that may hear it before what it was asked `after` is told what `late` gives instead.
        """
        if self._closed:
            raise Unavailable(CLOSED)
        decision = asyncio.get_running_loop().create_future()
        others: Sequence[bytes] = ()
        for node in ballot.asked:
            connection = self._connections[node]
            if connection is not None and connection.error is not None:
                # What was said on it may still be heard, after what is said on the next one.
                connection = None
            command = commands[node]
            for earlier in after:
                if earlier.may_overtake(node, connection):
                    others = others or late()
                    command = others[node]
            future: asyncio.Future[Reply]
            if connection is not None:
                ballot.ways[node] = connection
                future = connection.send(command)
            else:
                ballot.ways[node] = PENDING
                future = self._spawn(self._connect_and_send(node, command, ballot))
            future.add_done_callback(partial(self._heard, decision, ballot, node, script, command, False))
        if not ballot.decided:
            await self._wait(decision)
        if not ballot.decided and not ballot.is_known:
            for node in ballot.pending:
                ballot.fail(node, unreachable(TimeoutError(), self._nodes[node], self._timeout))

    async def _wait(self, decision: "asyncio.Future[None]") -> None:
        timer = asyncio.get_running_loop().call_later(self._timeout, _finish, decision)
        try:
            await decision
        finally:
            timer.cancel()

    def _heard(
        self,
        decision: "asyncio.Future[None]",
        ballot: Ballot,
        node: int,
        script: Script | None,
        command: bytes,
        loaded: bool,
        future: "asyncio.Future[Reply]",
    ) -> None:
        try:
            self._hear(decision, ballot, node, script, command, loaded, future)
        except BaseException:
            # A signal handler raised: the answer counts as lost, so that nobody waits for it until the time is over.
            if node in ballot.pending:
                ballot.fail(node, unreachable(ConnectionError(INTERRUPTED), self._nodes[node], self._timeout))
            if ballot.decided:
                _finish(decision)
            raise

    def _hear(
        self,
        decision: "asyncio.Future[None]",
        ballot: Ballot,
        node: int,
        script: Script | None,
        command: bytes,
        loaded: bool,
        future: "asyncio.Future[Reply]",
    ) -> None:
        error = ConnectionError("closed here") if future.cancelled() else future.exception()
        if error is None:
            reply = future.result()
            connection = self._connections[node]
            if type(reply) is not ReplyError and (script is None or script.fits(reply)):
                if decision.done():
                    ballot.ways[node] = None
                elif ballot.hear(node, reply):
                    decision.set_result(None)
                elif ballot.is_known:
                    asyncio.get_running_loop().call_later(GRACE, _finish, decision)
                return
            if type(reply) is not ReplyError:
                error = strange(self._nodes[node])
                if connection is not None:
                    connection.end(error)
            elif reply.code == "NOSCRIPT" and connection is not None and script is not None and not loaded:
                # It did not run. Also when nobody waits for it any more: what comes next may rely on it.
                connection.send(script.load).add_done_callback(_look_away)
                if decision.done() and script in CLAIMS:
                    # A vote may have been given back meanwhile: asked for now, nobody would give it back.
                    ballot.ways[node] = None
                    return
                again = connection.send(command)
                again.add_done_callback(partial(self._heard, decision, ballot, node, script, command, True))
                return
            else:
                error = explain(reply, self._nodes[node])
        elif not isinstance(error, EngineError):
            error = unreachable(error, self._nodes[node], self._timeout)
        if not decision.done() and ballot.fail(node, error):
            decision.set_result(None)

    async def _connect_and_send(self, node: int, command: bytes, ballot: Ballot) -> Reply:
        # One connects for all who come meanwhile, and they end with it: in turn they would be ever more, as long as a
        # node is silent. They go on in the order in which they came: a release that comes after its claim is also
        # sent after it.
        connecting = self._connecting[node]
        if connecting is None or connecting.done():
            connecting = self._connecting[node] = self._spawn(self._connect(node))
            connecting.add_done_callback(_look_away)
        try:
            connection = await asyncio.shield(connecting)
        except BaseException:
            ballot.ways[node] = None
            raise
        ballot.ways[node] = connection
        return await connection.send(command)

    async def _connect(self, node: int) -> Connection:
        connection = self._connections[node] = await connect(self._nodes[node], self._timeout)
        for script in self._loads:
            connection.send(script.load).add_done_callback(_look_away)
        return connection

    def _spawn(self, work: Coroutine[Any, Any, T]) -> "asyncio.Task[T]":
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def close(self) -> None:
        self._closed = True
        _close(self._tasks, self._connections)

    def __del__(self) -> None:
        # Whoever was interrupted on the way to closing it is told nothing: the sockets are closed all the same.
        if hasattr(self, "_tasks"):
            _close(self._tasks, self._connections)


class Ears:
    def __init__(
        self,
        nodes: Sequence[Address],
        timeout: float,
        majority: int,
        channel: str,
        deliver: Callable[[int, bytes], None],
    ) -> None:
        self.channel = channel
        self._nodes = nodes
        self._timeout = timeout
        self._majority = majority
        self._deliver = deliver
        self._connections: list[Connection | None] = [None] * len(nodes)
        self._opening: dict[int, asyncio.Task[None]] = {}
        self._mend_at = 0.0
        self._present: list[Waiter] = []

    @property
    def is_open(self) -> bool:
        """Whether a majority is heard."""
        return sum(self._hears(node) for node in range(len(self._nodes))) >= self._majority

    async def open(self) -> None:
        """Listen at all nodes from now on, or at least at a majority: what they publish after this returns is heard."""
        ballot = Ballot(len(self._nodes), self._majority, any_reply)
        loop = asyncio.get_running_loop()
        decision = loop.create_future()
        for node in range(len(self._nodes)):
            if self._hears(node):
                ballot.hear(node, True)
            else:
                self._open(node).add_done_callback(partial(self._opened, decision, ballot, node))
        if not ballot.decided:
            await decision
        ballot.check(self._majority)

    def mend(self) -> None:
        """Try to hear again those that are not heard, now and then. Nobody waits for that."""
        if boottime() >= self._mend_at:
            self._mend_at = boottime() + self._timeout
            for node in range(len(self._nodes)):
                if not self._hears(node):
                    self._open(node)

    async def wait(self, waiter: Waiter, until: float) -> None:
        """Return when the waiter has news, or at `until`. `Unavailable` if too little can be heard any more."""
        self._present.append(waiter)
        bell = waiter.bell = runtime.Event()
        try:
            while not waiter.stirred and (left := min(until, waiter.again_at) - boottime()) > 0:
                if not self.is_open:
                    raise Unavailable(DEAF)
                await bell.wait(min(left, LONGEST_NAP))
                bell.clear()
        finally:
            self._present.remove(waiter)

    def close(self) -> None:
        _close(self._opening.values(), self._connections)

    def __del__(self) -> None:
        if hasattr(self, "_opening"):
            _close(self._opening.values(), self._connections)

    def _hears(self, node: int) -> bool:
        connection = self._connections[node]
        return connection is not None and connection.error is None

    def _open(self, node: int) -> "asyncio.Task[None]":
        task = self._opening.get(node)
        if task is None or task.done():
            task = self._opening[node] = asyncio.get_running_loop().create_task(self._subscribe(node))
            task.add_done_callback(_look_away)
        return task

    async def _subscribe(self, node: int) -> None:
        connection = await connect(self._nodes[node], self._timeout)
        try:
            connection.listen(partial(self._heard, node))
            connection.on_end = self._ended
            reply = await connection.send(pack("SUBSCRIBE", self.channel))
            if isinstance(reply, ReplyError):
                raise explain(reply, self._nodes[node])
        except BaseException as error:
            connection.end(ConnectionError("not let in"))
            if isinstance(error, OSError | ValueError):
                raise unreachable(error, self._nodes[node], self._timeout) from error
            raise
        self._connections[node] = connection

    def _opened(
        self, decision: "asyncio.Future[None]", ballot: Ballot, node: int, task: "asyncio.Future[None]"
    ) -> None:
        error = Unavailable(CLOSED) if task.cancelled() else task.exception()
        if decision.done():
            return
        if error is None:
            decided = ballot.hear(node, True)
        elif isinstance(error, EngineError):
            decided = ballot.fail(node, error)
        else:
            decided = ballot.fail(node, unreachable(error, self._nodes[node], self._timeout))
        if decided:
            decision.set_result(None)

    def _heard(self, node: int, reply: Reply) -> None:
        message = message_of(reply)
        if message is not None:
            self._deliver(node, message)

    def _ended(self) -> None:
        for waiter in self._present:
            waiter.ring()


def _finish(decision: "asyncio.Future[None]") -> None:
    if not decision.done():
        decision.set_result(None)


def _look_away(future: "asyncio.Future[Any]") -> None:
    if not future.cancelled():
        future.exception()


def _close(tasks: "Any", connections: list[Connection | None]) -> None:
    for task in list(tasks):
        if not task.get_loop().is_closed():
            task.cancel()
    for connection in connections:
        if connection is not None:
            connection.end(ConnectionError("closed here"))
