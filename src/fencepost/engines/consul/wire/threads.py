"""Blocking connections: a caller takes a free one, or makes one."""

from queue import Empty, SimpleQueue
from time import monotonic

from fencepost._runtime import threads
from fencepost._runtime.clock import LONGEST_NAP, boottime
from fencepost._runtime.patience import is_proof
from fencepost.drivers.consul.connection import Connection as AgentConnection
from fencepost.drivers.consul.http import Response
from fencepost.engines.consul.address import Host
from fencepost.engines.consul.trouble import unreachable
from fencepost.engines.consul.wire import MOST_CALLS
from fencepost.errors import Unavailable

MOST_IDLE = 16
TRUSTED = 1.0


class Connection(AgentConnection):
    """To one agent."""

    __slots__ = ("host",)

    def __init__(self, host: Host, patience: float) -> None:
        self.host = host
        super().__init__(host.host, host.port, patience, host.tls)


class Watch:
    """A question that is answered only with news; `interrupt` ends it early, from any thread."""

    __slots__ = ("connection", "over")

    def __init__(self) -> None:
        self.connection: Connection | None = None
        self.over = False

    def interrupt(self) -> None:
        self.over = True
        connection = self.connection
        if connection is not None:
            connection.wake()


class Link:
    """Connections to the agents, as many as callers at a time, all to the agent that answered last."""

    def __init__(self, hosts: tuple[Host, ...], patience: float) -> None:
        self.patience = patience
        self._hosts = list(hosts)
        self._free: list[Connection] = []
        # Whoever takes one of what is in it may call. A semaphore would do, and is slow.
        self._turns: SimpleQueue[None] = SimpleQueue()
        for _ in range(MOST_CALLS):
            self._turns.put(None)
        self._closed = False

    @property
    def host(self) -> Host:
        return self._hosts[0]

    def call(self, request: bytes) -> Response:
        try:
            # Taken by a step of a loop, which is no call: a signal handler that raises after one would lose the turn.
            for _ in map(self._turns.get, (True,), (threads.patience(self.patience),)):
                try:
                    return self._exchange(request)
                finally:
                    self._turns.put(None)
        except Empty:
            pass
        raise Unavailable(f"{MOST_CALLS} requests to consul at {self.host} are under way already")

    def _exchange(self, request: bytes) -> Response:
        connection = self._take()
        try:
            connection.begin(self.patience)
            connection.send(request)
            response = connection.read()
        except BaseException as error:
            self._failed(connection, error)
            raise
        self._give_back(connection, response)
        return response

    def watch(self, request: bytes, until: float, watch: Watch) -> Response | None:
        """The news; None when the clock shows `until`, or after an interruption."""
        connection = watch.connection = self._take()
        try:
            connection.begin(self.patience)
            connection.send(request)
            while not watch.over and (left := until - boottime()) > 0:
                connection.patience(min(left, LONGEST_NAP))
                try:
                    response = connection.take_in()
                except (TimeoutError, BlockingIOError):
                    continue
                if response is None:
                    continue
                connection.patience(self.patience)
                # Before it can be another caller's: an interruption would cut that one off.
                watch.connection = None
                self._give_back(connection, response)
                return response
            connection.close()
            return None
        except BaseException as error:
            if watch.over and isinstance(error, OSError | ValueError):
                connection.close()
                return None
            self._failed(connection, error)
            raise
        finally:
            watch.connection = None

    def close(self) -> None:
        self._closed = True
        while self._free:
            self._free.pop().close()

    def _take(self) -> Connection:
        try:
            connection = self._free.pop()
        except IndexError:
            return self._connect()
        # One that was idle for long may have been closed meanwhile. To look each time would cost a system call.
        if monotonic() - connection.used_at > TRUSTED and connection.is_readable():
            connection.close()
            return self._take()
        return connection

    def _connect(self) -> Connection:
        """To the first agent that lets us in: nothing was sent yet, so trying another is no second attempt."""
        if self._closed:
            raise Unavailable(f"the connection to consul at {self.host} was closed here")
        trouble: Unavailable | None = None
        allowed, hosts = threads.patience(self.patience), list(self._hosts)
        until = monotonic() + allowed
        for number, host in enumerate(hosts):
            share = max(0.001, (until - monotonic()) / (len(hosts) - number))
            try:
                return Connection(host, share)
            except OSError as error:
                if trouble is None:
                    trouble = unreachable(error, host, share)
                    trouble.__cause__ = error
                if is_proof(allowed, self.patience) or not isinstance(error, TimeoutError | BlockingIOError):
                    self._distrust(host)
        assert trouble is not None
        raise trouble

    def _give_back(self, connection: Connection, response: Response) -> None:
        if len(self._free) < MOST_IDLE and not self._closed and not response.closing:
            if response.status == 500:
                # An agent without a leader may be the one that is cut off.
                self._distrust(connection.host)
            connection.used_at = monotonic()
            self._free.append(connection)
        else:
            connection.close()

    def _failed(self, connection: Connection, error: BaseException) -> None:
        connection.close()
        if isinstance(error, OSError | ValueError):
            # A caller without time is no proof against an agent that others use.
            late = isinstance(error, TimeoutError | BlockingIOError)
            if not late or is_proof(connection.allowed, self.patience):
                self._distrust(connection.host)
            raise unreachable(error, connection.host, connection.allowed) from error

    def _distrust(self, host: Host) -> None:
        """Ask another agent from now on, if there is one. Idle connections are of the same kind, or older."""
        if self._hosts[0] == host:
            # None is taken out: a signal handler that raised then, or another thread, would lose it.
            self._hosts = [*(each for each in self._hosts if each != host), host]
        while self._free:
            try:
                self._free.pop().close()
            except IndexError:
                break
