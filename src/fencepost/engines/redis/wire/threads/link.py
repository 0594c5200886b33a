"""Blocking connections to one server: a caller takes a free one, or makes one."""

import math
from collections.abc import Sequence

from fencepost._runtime.clock import boottime
from fencepost._runtime.threads import calls
from fencepost.engines.redis.address import Address
from fencepost.engines.redis.resp import Reply, is_lone_number
from fencepost.engines.redis.trouble import unreachable
from fencepost.engines.redis.wire.threads.connection import FITS, SMALL_CHUNK, Connection, connect
from fencepost.errors import EngineError, Unavailable

MOST_IDLE = 16
FOR_EVER = math.inf


class Link:
    """Connections to one server, as many as callers at a time."""

    def __init__(self, address: Address, patience: float) -> None:
        self.address = address
        self.patience = patience
        self._free: list[Connection] = []
        self._closed = False

    def take(self) -> Connection:
        """A connection for one exchange. `give_back` it, or `drop` it if anything went wrong on it."""
        try:
            connection = self._free.pop()
        except IndexError:
            if self._closed:
                raise Unavailable(f"the connection to redis at {self.address} was closed here") from None
            return connect(self.address, self.patience)
        if connection.unread(0):
            self.drop(connection)
            return self.take()
        return connection

    def give_back(self, connection: Connection) -> None:
        # Anything left to read is nobody's reply.
        if len(self._free) < MOST_IDLE and not self._closed and connection.is_clean:
            self._free.append(connection)
        else:
            connection.close()

    def drop(self, connection: Connection) -> None:
        connection.close()
        self.reset()

    def reset(self) -> None:
        """Those that are idle are of the same age or older: whatever ended one has ended them."""
        while self._free:
            try:
                self._free.pop().close()
            except IndexError:
                break

    def call(self, command: bytes) -> Reply:
        # Every command of every lock comes along here: `take`, `read` and `give_back`, without their calls.
        until = boottime() + self.patience
        try:
            connection = self._free.pop()
        except IndexError:
            return self.calls(command, 1)[0]
        if connection.unread(0):
            self.drop(connection)
            return self.calls(command, 1)[0]
        try:
            if calls.until < FOR_EVER or connection.is_hurried:
                connection.begin(self.patience)
            if len(command) <= FITS:
                connection.sendall(command)
            else:
                connection.begin(self.patience)
                connection.send(command)
            data = connection.recv(SMALL_CHUNK)
            alone = is_lone_number(data)
            reply = int(data[1:]) if alone else connection.read(data, until)
        except BaseException as error:
            self.drop(connection)
            if isinstance(error, OSError | ValueError):
                raise unreachable(error, self.address, _since(until - self.patience, self.patience)) from error
            raise
        if self._closed or len(self._free) >= MOST_IDLE or not (alone or connection.is_clean):
            connection.close()
        else:
            self._free.append(connection)
        return reply

    def calls(self, commands: bytes, count: int) -> list[Reply]:
        began_at = boottime()
        until = began_at + self.patience
        connection = self.take()
        try:
            connection.hurry(until - boottime())
            connection.send(commands)
            replies = connection.read_all(count, until)
        except BaseException as error:
            self.drop(connection)
            if isinstance(error, OSError | ValueError):
                raise unreachable(error, self.address, _since(began_at, self.patience)) from error
            raise
        self.give_back(connection)
        return replies

    def close(self) -> None:
        self._closed = True
        self.reset()


def scatter(work: Sequence[tuple[Link, bytes, int]]) -> list[list[Reply] | EngineError]:
    """What each link answers to its commands, all asked at once; or why it does not."""
    found: list[list[Reply] | EngineError] = []
    asked: list[Connection | EngineError] = []
    asked_at = boottime()
    try:
        for link, commands, _ in work:
            asked.append(_ask(link, commands))
        for (link, _, count), connection in zip(work, list(asked), strict=True):
            if isinstance(connection, EngineError):
                found.append(connection)
                continue
            try:
                found.append(connection.read_all(count, asked_at + link.patience))
            except (OSError, ValueError) as error:
                link.drop(connection)
                found.append(unreachable(error, link.address, _since(asked_at, link.patience)))
            else:
                link.give_back(connection)
        return found
    except BaseException:
        for (link, _, _), connection in zip(work[len(found) :], asked[len(found) :], strict=False):
            if not isinstance(connection, EngineError):
                link.drop(connection)
        raise


def _ask(link: Link, commands: bytes) -> Connection | EngineError:
    connection: Connection | None = None
    began_at = boottime()
    try:
        connection = link.take()
        connection.hurry(began_at + link.patience - boottime())
        connection.send(commands)
        return connection
    except EngineError as error:
        return error
    except BaseException as error:
        if connection is not None:
            link.drop(connection)
        if isinstance(error, OSError | ValueError):
            return unreachable(error, link.address, _since(began_at, link.patience))
        raise


def _since(began_at: float, patience: float) -> float:
    return min(patience, boottime() - began_at)
