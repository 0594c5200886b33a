# Generated from src/fencepost/engines/zookeeper/_async/link.py by tools/unasync.py. Do not edit: run `make gen`.
"""One session at the servers, and the connection that carries it from one server to the next."""

import random
from collections.abc import Callable, Sequence

from fencepost._runtime import threads as runtime
from fencepost._runtime import fork
from fencepost.engines.zookeeper import jute
from fencepost.engines.zookeeper.address import Address, written
from fencepost.engines.zookeeper.frame import OnEvent
from fencepost.engines.zookeeper.jute import Reply, Session
from fencepost.engines.zookeeper.sasl import Exchange
from fencepost.engines.zookeeper.trouble import SessionEnded, explain, unreachable
from fencepost.engines.zookeeper.wire import threads as wire
from fencepost.errors import EngineError, Unavailable

NO_SESSION = Session(0, 0, bytes(16))
ENDED = "zookeeper no longer has the session: it ended, or was closed"
FOREIGN = "the session belongs to the parent of this process"
LEAST_PATIENCE = 0.05
MOST_CHALLENGES = 10
# As the protocol has it.
MOST_MILLISECONDS = 2**31 - 1


class Limit(runtime.Limit):
    """Who waits for another to connect waits no longer than for a server."""

    __slots__ = ()
    late = Unavailable


class Link:
    """A session that lasts `timeout` seconds after the last thing the servers heard of it.

    It is opened by the first call, and carried over to another server when a connection is lost. Whoever calls then
    is told `Unavailable`, and the next call goes to a server that answers. `SessionEnded` once there is no session
    to carry on: a link opens only one. `on_end` is told of that first, whoever finds it out.

    That is also what makes that nothing has an effect any more when it arrives late. What is sent on one connection is
    done in the order in which it was sent. A session belongs to the connection that was attached to it last: the server
    that had it before drops the older one, and the leader refuses what another server passes on for it. So whatever
    was held up is done before all that follows it, or never; and a session that was closed does nothing. What deletes
    or changes a node does so only once: the name has the serial of its request and a number that the server counts.
    """

    def __init__(
        self,
        address: Address,
        timeout: float,
        on_event: OnEvent,
        *,
        clock: runtime.Clock,
        patience: float,
        on_end: Callable[[str], object] | None = None,
    ) -> None:
        self.ended: str | None = None
        # When the servers' leader is known to have heard of the session by itself.
        self.attached_at = 0.0
        self.session = NO_SESSION
        self._address = address
        # No server gives so long a one, and whoever asked for it is told what it gives.
        self._timeout = max(1, min(round(timeout * 1000), MOST_MILLISECONDS))
        self._on_event = on_event
        self._on_end = on_end
        self._clock = clock
        self._now = clock.now
        self._patience = patience
        self._hosts = random.sample(address.hosts, len(address.hosts))
        self._last_zxid = 0
        self._connection: wire.Connection | None = None
        self._connecting = runtime.Turn(Unavailable)
        self._generation = fork.generation()

    def call(self, requests: Sequence[bytes]) -> list[Reply]:
        """The replies to requests that are sent in one go."""
        connection = self._connection
        if connection is None or connection.is_over:
            connection = self.connection()
        asked_at = self._now()
        try:
            replies = connection.call(requests)
        except (OSError, ValueError) as error:
            waited = min(self._patience, self._now() - asked_at)
            raise unreachable(error, written(self._hosts[0]), waited) from error
        for reply in replies:
            if reply.error == jute.SESSION_EXPIRED:
                raise self._end()
            if reply.error == jute.SESSION_MOVED:
                connection.end(ConnectionError("the session has moved"))
                raise explain(reply.error, written(self._hosts[0]))
        return replies

    def connection(self) -> wire.Connection:
        """The present connection, or one to the next server that lets us in."""
        if fork.generation() != self._generation:
            # It has the password of the session, and would take it away from its parent.
            raise SessionEnded(FOREIGN)
        until = self._now() + self._patience
        with Limit(self._clock, until), self._connecting:
            connection = self._connection
            if connection is None or connection.is_over:
                if self.ended is not None:
                    raise SessionEnded(self.ended)
                if self._now() >= until:
                    raise Unavailable("another tried to connect to zookeeper, and nobody let it in")
                if connection is not None:
                    self._last_zxid = max(self._last_zxid, connection.last_zxid)
                    self._connection = None
                connection = self._connection = self._connect()
            return connection

    @property
    def present(self) -> wire.Connection | None:
        """The connection on which whatever is asked to be told is told, if there is one."""
        return self._connection

    def reattach(self) -> None:
        """Let the next call make a connection of its own, once all that was sent on this one is answered."""
        with self._connecting:
            connection = self._connection
            if connection is None or connection.is_over:
                return
            connection.is_retired = True
            try:
                connection.call([jute.PROVE])
            except (OSError, ValueError):
                pass
            finally:
                connection.end(ConnectionError("the session goes on on another connection"))

    def close(self) -> None:
        """End the session, and with it all its nodes."""
        if self.ended is None and self.session.id:
            try:
                self.call([jute.CLOSING])
            except SessionEnded:
                pass
        self.forget("the session was closed")

    def forget(self, reason: str) -> None:
        """Let go of the connection, and say nothing."""
        self.ended = self.ended or reason
        if self._connection is not None:
            self._connection.end(ConnectionError(reason))

    def _end(self, reason: str = ENDED) -> SessionEnded:
        if self._on_end is not None:
            self._on_end(reason)
        self.forget(reason)
        return SessionEnded(reason)

    def _connect(self) -> wire.Connection:
        """Try each server once, all within our patience; none may take more than half of what is left of it."""
        until = self._now() + self._patience
        trouble: EngineError | None = None
        for left in range(len(self._hosts), 0, -1):
            began_at = self._now()
            within = max(LEAST_PATIENCE, (until - self._now()) / min(left, 2))
            try:
                return self._attach(self._hosts[0], within)
            except (OSError, ValueError) as error:
                trouble = unreachable(error, written(self._hosts[0]), min(within, self._now() - began_at))
                trouble.__cause__ = error
            except Unavailable as error:
                trouble = error
            # None is taken out: a signal handler that raised then would lose it.
            self._hosts = [*self._hosts[1:], self._hosts[0]]
        assert trouble is not None
        raise trouble

    def _attach(self, host: tuple[str, int], within: float) -> wire.Connection:
        sent_at = self._now()
        hello = jute.connect(self.session, self._last_zxid, self._timeout)
        connection, answer = wire.connect(
            host, self._address.tls, hello, self._on_event, patience=self._patience, within=within
        )
        try:
            found = jute.connected(answer)
            if not found.timeout:
                # Also what a server answers that knows us under another password.
                raise self._end()
            self._check_kept(found, host)
            self.session = found
            self._introduce(connection, host)
            self.attached_at = sent_at
            return connection
        except BaseException:
            connection.end(ConnectionError("not let in"))
            raise

    def _check_kept(self, found: Session, host: tuple[str, int]) -> None:
        """Whether a session that is carried over lasts as long as before: what is held on it counts on that.

        If not, we let go of it at once. It is not closed: until it has ended nobody else has what was held.
        """
        wanted = min(self.session.timeout, self._timeout)
        if self.session.id and found.timeout < wanted:
            raise self._end(
                f"zookeeper at {written(host)} keeps it for {found.timeout / 1000:g} s instead of "
                f"{wanted / 1000:g} s: all servers need the same maxSessionTimeout and tickTime"
            )

    def _introduce(self, connection: wire.Connection, host: tuple[str, int]) -> None:
        """Say who we are."""
        for scheme, credentials in self._address.auth:
            (reply,) = connection.call([jute.auth(scheme, credentials)])
            if reply.error:
                raise explain(reply.error, written(host))
        if self._address.sasl is None:
            return
        exchange = Exchange(self._address, host[0])
        challenge: bytes | None = None
        for _ in range(MOST_CHALLENGES):
            response = exchange.answer(challenge)
            if response is None:
                return
            (reply,) = connection.call([jute.sasl(response)])
            if reply.error:
                raise explain(reply.error, written(host))
            challenge = jute.token(reply.body)
        raise Unavailable(f"zookeeper at {written(host)} has more than {MOST_CHALLENGES} SASL challenges for us")
