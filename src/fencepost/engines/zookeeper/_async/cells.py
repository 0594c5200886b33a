# Written by hand; the blocking twin under _sync is generated from it.
"""Cells on ZooKeeper: a node each, changed by the version of its data, and watched in a session of their own."""

from fencepost._runtime import aio as runtime
from fencepost._runtime.state import StateLock
from fencepost.contract.answer import Cell
from fencepost.engines.zookeeper import jute
from fencepost.engines.zookeeper._async.link import AsyncLink
from fencepost.engines.zookeeper.ground import Ground
from fencepost.engines.zookeeper.jute import Reply, Stat
from fencepost.engines.zookeeper.trouble import SessionEnded, explain, unreachable
from fencepost.engines.zookeeper.waiter import Waiter
from fencepost.errors import Refused, Unavailable

EMPTY = Cell(None, 0)
# What stands before every value. A node without it is an empty cell: were it removed, its versions would begin anew.
FULL = b"="


class AsyncCells:
    def __init__(self, ground: Ground, *, clock: runtime.Clock, patience: float) -> None:
        self._ground = ground
        self._clock = clock
        self._patience = patience
        self._link: AsyncLink | None = None
        self._watched: dict[bytes, list[Waiter]] = {}
        self._lock = StateLock()
        self._closed = False

    async def read(self, key: str) -> Cell:
        return (await self._read(self._ground.folder.cell(key)))[0]

    async def write(self, key: str, value: str | None, version: int) -> Cell | None:
        path = self._ground.folder.cell(key)
        cell, stat = await self._read(path)
        if cell.version != version:
            return None
        if stat is None:
            return EMPTY if value is None else await self._create(path, value)
        data = b"" if value is None else FULL + value.encode()
        (reply,) = await self._call([jute.set_data(path, data, stat.version)])
        if reply.error in (jute.BAD_VERSION, jute.NO_NODE):
            return None
        return EMPTY if value is None else Cell(value, jute.stat(self._body(reply)).modified_by)

    async def watch(self, key: str, version: int, timeout: float) -> Cell:
        path = self._ground.folder.cell(key)
        until = self._clock.now() + timeout
        while True:
            waiter = Waiter()
            with self._lock:
                self._watched.setdefault(path, []).append(waiter)
            try:
                cell, _ = await self._read(path, watch=True)
                left = until - self._clock.now()
                if cell.version != version or left <= 0 or self._closed:
                    return cell
                # Reading again now and then keeps the session.
                await self._wait(waiter, min(left, self._patience))
            finally:
                self._forget(path, waiter)

    def close(self) -> None:
        self._closed = True
        with self._lock:
            link, waiting = self._link, [waiter for waiters in self._watched.values() for waiter in waiters]
        for waiter in waiting:
            waiter.end("the session was closed")
        if link is not None:
            link.forget("the session was closed")

    async def _wait(self, waiter: Waiter, seconds: float) -> None:
        connection = None if self._link is None else self._link.present
        if connection is None:
            raise Unavailable("the connection on which zookeeper tells of changes was lost")
        try:
            await connection.wait(waiter, self._clock.now() + seconds)
        except (OSError, ValueError) as error:
            raise unreachable(error, self._ground.address, self._patience) from error

    async def _read(self, path: bytes, *, watch: bool = False) -> tuple[Cell, Stat | None]:
        """The cell, and the stat of its node if there is one. A watch is for whatever happens to it next."""
        requests = [jute.read(jute.EXISTS, path, watch=watch), jute.read(jute.GET_DATA, path)]
        # Whoever watches is told of what is still on its way to this server.
        *_, reply = await self._call(requests if watch else [jute.PROVE, *requests])
        if reply.error == jute.NO_NODE:
            return EMPTY, None
        data, stat = jute.node(self._body(reply))
        if not data.startswith(FULL):
            return EMPTY, stat
        try:
            return Cell(data[len(FULL) :].decode(), stat.modified_by), stat
        except UnicodeDecodeError:
            where = path.decode(errors="replace")
            raise Refused(f"zookeeper has something at '{where}' that we did not write: remove it") from None

    async def _create(self, path: bytes, value: str) -> Cell | None:
        acl, folder = self._ground.address.acl, self._ground.folder
        node = jute.create(jute.CREATE2, path, FULL + value.encode(), acl, jute.PERSISTENT)
        above = [jute.create(jute.CREATE, each, b"", acl, jute.PERSISTENT) for each in (*folder.above(), folder.cells)]
        (made,) = await self._call([node])
        if made.error == jute.NO_NODE:
            *_, made = await self._call([*above, node])
        if made.error == jute.NODE_EXISTS:
            return None
        return Cell(value, jute.created(self._body(made))[1].modified_by)

    async def _call(self, requests: list[bytes]) -> list[Reply]:
        for _ in range(2):
            try:
                return await self._session().call(requests)
            except SessionEnded:
                # It was idle for too long.
                continue
        raise Unavailable(f"zookeeper at {self._ground.address} ends every session at once")

    def _session(self) -> AsyncLink:
        """The one for all who read, write and watch: what is watched on another would be told to nobody."""
        with self._lock:
            if self._link is None or self._link.ended is not None:
                if self._closed:
                    raise Unavailable(f"the session at zookeeper at {self._ground.address} was closed here")
                self._link = AsyncLink(
                    self._ground.address, self._patience * 4, self._heard, clock=self._clock, patience=self._patience
                )
            return self._link

    def _body(self, reply: Reply) -> bytes:
        if reply.error:
            raise explain(reply.error, self._ground.address)
        return reply.body

    def _heard(self, path: bytes, gone: bool) -> None:
        with self._lock:
            waiting = list(self._watched.get(path, ()))
        for waiter in waiting:
            waiter.tell(path, gone=gone)

    def _forget(self, path: bytes, waiter: Waiter) -> None:
        with self._lock:
            waiters = self._watched[path]
            waiters.remove(waiter)
            if not waiters:
                del self._watched[path]
