"""A TCP proxy that harms what goes through it: between a client and a server under test."""

import asyncio
import threading
import weakref
from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import Any, Self

from fencepost.core.duration import check_seconds
from fencepost.core.permit import check_count
from fencepost.core.url import MOST_PORT
from fencepost.testing.port import free_port

CHUNK = 65536
# How many turns of its loop asyncio takes to accept a connection.
ACCEPTED = 3


class Proxy:
    """Listens on `port` and passes on to `target`, in a thread of its own. Every fault lasts until `heal`.

    `lag` is asked for each piece that a client sends: how many seconds later it is passed on. So what goes over one
    connection may overtake what was sent before over another, as on any network.
    """

    def __init__(self, target: int, *, host: str = "127.0.0.1", lag: Callable[[], float] | None = None) -> None:
        check_count(target, "port of the server", MOST_PORT)
        self.port = free_port()
        self._target = (host, target)
        self._lag = lag
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="fencepost-proxy", daemon=True)
        self._listener: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        # Also those that are closed already and have something left to send, maybe for ever.
        self._transports: weakref.WeakSet[asyncio.WriteTransport] = weakref.WeakSet()
        self._serving: set[asyncio.Task[None]] = set()
        self._delay = 0.0
        self._dropping = False
        self._open = asyncio.Event()
        self._open.set()

    def __enter__(self) -> Self:
        self._thread.start()
        self._run(self._listen())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._run(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def delay(self, seconds: float) -> None:
        """Whatever arrives, in either direction, is passed on that much later."""
        self._delay = check_seconds(seconds, "seconds")

    def hold(self) -> None:
        """What the client sends is kept here, to be delivered late: by `heal`."""
        self._loop.call_soon_threadsafe(self._open.clear)

    def drop_replies(self) -> None:
        """What the client sends arrives; what the server answers does not."""
        self._dropping = True

    def refuse(self) -> None:
        """New connections are refused; those that are open stay."""
        self._run(self._stop_listening())

    def cut(self) -> None:
        """Every connection is reset, and new ones are refused. What was held is gone."""
        self._run(self._stop_listening(abort=True))

    def heal(self) -> None:
        """End every fault, and deliver what was held."""
        self._delay, self._dropping = 0.0, False
        self._loop.call_soon_threadsafe(self._open.set)
        self._run(self._listen())

    async def _listen(self) -> None:
        if self._listener is None:
            self._listener = await asyncio.start_server(self._accept, "127.0.0.1", self.port)

    async def _stop_listening(self, *, abort: bool = False) -> None:
        listener, self._listener = self._listener, None
        if listener is not None:
            # Who is being accepted while the listener closes would be neither served nor closed: first let them in.
            for each in listener.sockets:
                self._loop.remove_reader(each.fileno())
            for _ in range(ACCEPTED):
                await asyncio.sleep(0)
            listener.close()
        for writer in self._writers if abort else ():
            writer.transport.abort()

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # Noted before it is served: whoever closes the proxy at this moment must find it.
        self._know(writer)
        serving = self._loop.create_task(self._serve(reader, writer))
        self._serving.add(serving)
        serving.add_done_callback(self._serving.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            far_reader, far_writer = await asyncio.open_connection(*self._target)
            self._know(far_writer)
            try:
                await asyncio.gather(self._pump(reader, far_writer), self._pump(far_reader, writer, reply=True))
            finally:
                self._writers.discard(far_writer)
                far_writer.close()
        except OSError:
            pass
        finally:
            self._writers.discard(writer)
            writer.close()

    def _know(self, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        self._transports.add(writer.transport)

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, reply: bool = False) -> None:
        while data := await reader.read(CHUNK):
            if self._delay:
                await asyncio.sleep(self._delay)
            if not reply:
                await self._lag_behind()
                await self._open.wait()
            if not (reply and self._dropping):
                writer.write(data)
                await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()

    async def _lag_behind(self) -> None:
        if self._lag is not None and (seconds := self._lag()):
            await asyncio.sleep(seconds)

    async def _close(self) -> None:
        await self._stop_listening()
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for transport in list(self._transports):
            transport.abort()
        # So that aborted transports are closed before their loop is.
        await asyncio.sleep(0)

    def _run(self, work: Coroutine[Any, Any, None], *, within: float = 10.0) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(within)
