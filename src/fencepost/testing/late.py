"""A TCP proxy that keeps what a client sends while that client gives up, and delivers it when everybody has gone on."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from fencepost.testing.proxy import CHUNK, Proxy

# For how long a server that was told something late may think about it, and is listened to after it has answered.
# A busy machine that needs longer makes a test see less, never fail.
PATIENCE = 5.0
SILENCE = 0.1
# Seconds between two bytes of an answer.
DRIP = 0.2


@dataclass(eq=False)
class Link:
    """One connection of a client, and the one behind it to the server."""

    near: asyncio.StreamWriter
    far: asyncio.StreamWriter
    detained: bool = False
    kept: bytearray = field(default_factory=bytearray)
    heard: asyncio.Event = field(default_factory=asyncio.Event)
    over: asyncio.Event = field(default_factory=asyncio.Event)


class LateProxy(Proxy):
    """`detain`, wait until something is `kept`, `hang_up`, let the client go on over new connections, `deliver`.

    Of the faults of other proxies it has `hold`, `refuse` and `cut`.
    """

    def __init__(self, target: int, *, host: str = "127.0.0.1", lag: Callable[[], float] | None = None) -> None:
        super().__init__(target, host=host, lag=lag)
        self._links: set[Link] = set()
        self._dripping = False

    def drip(self) -> None:
        """What the server answers arrives, a few bytes each second."""
        self._dripping = True

    def heal(self) -> None:
        self._dripping = False
        super().heal()

    def detain(self) -> None:
        """Keep what comes over the connections that are open now. Those that are opened later pass."""
        for link in list(self._links):
            link.detained = True

    @property
    def kept(self) -> int:
        return sum(len(link.kept) for link in list(self._links))

    def hang_up(self) -> None:
        """End the connections of which something is kept, for the client alone. The server does not know."""
        self._run(self._hang_up())

    def deliver(self) -> None:
        """Give the server what was kept, hear it out, and end these connections for it as well."""
        self._run(self._deliver(), within=4 * PATIENCE)

    async def _hang_up(self) -> None:
        for link in self._links:
            if link.kept:
                link.near.transport.abort()
            else:
                link.detained = False

    async def _deliver(self) -> None:
        await asyncio.gather(*(self._tell(link) for link in self._links if link.kept))

    async def _tell(self, link: Link) -> None:
        try:
            link.heard.clear()
            link.far.write(bytes(link.kept))
            patience = PATIENCE
            # Some servers are never silent: whoever listens there is told something all the time.
            async with asyncio.timeout(2 * PATIENCE):
                while not link.over.is_set():
                    await asyncio.wait_for(link.heard.wait(), patience)
                    link.heard.clear()
                    patience = SILENCE
        except (TimeoutError, OSError):
            pass
        link.over.set()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            far_reader, far_writer = await asyncio.open_connection(*self._target)
        except OSError:
            writer.close()
            return
        link = Link(writer, far_writer)
        self._links.add(link)
        self._know(far_writer)
        try:
            async with asyncio.TaskGroup() as group:
                hearing = group.create_task(self._hear(far_reader, link))
                await self._listen_to(reader, link)
                if link.kept:
                    await link.over.wait()
                hearing.cancel()
        finally:
            self._links.discard(link)
            self._writers -= {writer, far_writer}
            far_writer.close()
            writer.close()

    async def _listen_to(self, reader: asyncio.StreamReader, link: Link) -> None:
        try:
            while data := await reader.read(CHUNK):
                await self._lag_behind()
                await self._open.wait()
                if link.detained:
                    link.kept += data
                else:
                    link.far.write(data)
        except OSError:
            pass

    async def _hear(self, reader: asyncio.StreamReader, link: Link) -> None:
        """Pass on what the server says, as long as somebody is there to hear it."""
        try:
            while data := await reader.read(CHUNK):
                link.heard.set()
                while data and self._dripping:
                    link.near.write(data[:1])
                    data = data[1:]
                    await asyncio.sleep(DRIP)
                link.near.write(data)
        except OSError:
            pass
        link.over.set()
        link.heard.set()
        link.near.close()
