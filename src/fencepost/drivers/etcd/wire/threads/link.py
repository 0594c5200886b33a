"""Blocking connections to one cluster: a caller takes a free one, or makes one."""

from collections.abc import Sequence
from time import monotonic

from fencepost._runtime import threads as runtime
from fencepost._runtime.patience import is_proof
from fencepost.drivers.etcd import answer, request
from fencepost.drivers.etcd.endpoint import Endpoints
from fencepost.drivers.etcd.trouble import RpcError, explain, unreachable
from fencepost.drivers.etcd.wire.threads.connection import Connection
from fencepost.errors import Unavailable

MOST_IDLE = 16
# A connection that was used less than so many seconds ago is taken without a look at it.
TRUSTED = 1.0


class Link:
    """Connections to one cluster, as many as callers at a time."""

    def __init__(self, endpoints: Endpoints, patience: float) -> None:
        self.endpoints = endpoints
        self.patience = patience
        self._free: list[Connection] = []
        self._closed = False

    def connect(self) -> Connection:
        """A connection that a member has let in: the current one, or whichever of the others comes first."""
        if self._closed:
            raise Unavailable(f"the connection to etcd at {self.endpoints} was closed here")
        endpoints, allowed = self.endpoints, runtime.patience(self.patience)
        until, left = monotonic() + allowed, len(endpoints)
        for address in endpoints.in_turn():
            share = max(0.001, (until - monotonic()) / left)
            left -= 1
            try:
                return self._enter(Connection(endpoints, address, share), share)
            except (OSError, ValueError) as error:
                # A caller without time is no proof against a member that others use.
                if is_proof(allowed, self.patience) or not isinstance(error, TimeoutError | BlockingIOError):
                    endpoints.leave(address)
                if not left:
                    raise unreachable(error, address, share) from error
        raise AssertionError("there is always one")

    def _enter(self, connection: Connection, patience: float) -> Connection:
        try:
            connection.begin(patience)
            if self.endpoints.credentials is not None and self.endpoints.token is None:
                body = request.authenticate(*self.endpoints.credentials)
                self.endpoints.token = answer.token(connection.call(request.AUTHENTICATE, body))
                # What was encoded so far says nothing of the token.
                connection.forget_token()
            return connection
        except BaseException as error:
            connection.close()
            if isinstance(error, RpcError):
                error.where = connection.address
                raise explain(error) from error
            raise

    def take(self) -> Connection:
        """A connection for one exchange. `give_back` it, or `drop` it if anything went wrong on it."""
        while True:
            try:
                connection = self._free.pop()
            except IndexError:
                return self.connect()
            if connection.socket.fileno() < 0:
                # In the child of a fork all are closed.
                continue
            # One that was idle for long may have been closed meanwhile. To look each time would cost a system call.
            if monotonic() - connection.used_at <= TRUSTED:
                return connection
            try:
                connection.look()
                return connection
            except (OSError, ValueError):
                connection.close()

    def give_back(self, connection: Connection) -> None:
        if len(self._free) < MOST_IDLE and not self._closed and connection.is_usable:
            connection.used_at = monotonic()
            self._free.append(connection)
        else:
            connection.close()

    def drop(self, connection: Connection) -> None:
        """Something went wrong there: the next call goes to the next member."""
        self.endpoints.leave(connection.address)
        connection.close()
        self.clear()

    def distrust(self) -> None:
        """Whoever answered said what makes no sense: ask the next member."""
        self.endpoints.leave(self.endpoints.current)
        self.clear()

    def clear(self) -> None:
        """Let go of the connections that are idle."""
        while self._free:
            try:
                self._free.pop().close()
            except IndexError:
                break

    def call(self, path: str, body: bytes) -> bytes:
        connection = self.take()
        try:
            connection.begin(self.patience)
            answered = connection.call(path, body)
        except BaseException as error:
            self._failed(connection, error)
            raise
        self.give_back(connection)
        return answered

    def calls(self, work: Sequence[request.Call]) -> "list[bytes | RpcError]":
        """What each is answered, all asked at once."""
        connection = self.take()
        try:
            connection.begin(self.patience)
            found = connection.calls(work)
        except BaseException as error:
            self._failed(connection, error)
            raise
        failed = [each for each in found if isinstance(each, RpcError)]
        for each in failed:
            each.where = connection.address
        # Once, however many failed.
        if any(each.elsewhere for each in failed):
            self.drop(connection)
        else:
            self.give_back(connection)
        return found

    def _failed(self, connection: Connection, error: BaseException) -> None:
        if isinstance(error, RpcError):
            error.where = connection.address
        if isinstance(error, RpcError) and not error.elsewhere:
            self.give_back(connection)
            return
        late = isinstance(error, TimeoutError | BlockingIOError)
        if isinstance(error, OSError | ValueError | RpcError) and (
            not late or is_proof(connection.allowed, self.patience)
        ):
            self.drop(connection)
        else:
            # A caller that is interrupted, or without time, is no proof against a member that others use.
            connection.close()
        if isinstance(error, OSError | ValueError):
            raise unreachable(error, connection.address, connection.allowed) from error

    def close(self) -> None:
        self._closed = True
        self.clear()
