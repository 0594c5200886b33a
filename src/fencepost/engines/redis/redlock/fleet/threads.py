"""Blocking connections to all nodes: a caller takes a free set of them, or makes one."""

from collections import deque
from collections.abc import Callable, Sequence
from math import ceil
from time import monotonic

from fencepost._runtime import fork
from fencepost._runtime import threads as runtime
from fencepost._runtime.clock import LONGEST_NAP, boottime
from fencepost._runtime.readiness import READ, alarm, poll
from fencepost._runtime.watch import Watch
from fencepost.engines.redis.address import Address
from fencepost.engines.redis.pulse import PING, Pulse
from fencepost.engines.redis.redlock.ballot import GRACE, Ballot
from fencepost.engines.redis.redlock.fleet.peer import NOBODY, PUSHED, TRUSTED, Peer
from fencepost.engines.redis.redlock.script import CLAIMS, GIVING_BACK
from fencepost.engines.redis.redlock.waiter import Waiter
from fencepost.engines.redis.resp import Reply, ReplyError, message_of, pack
from fencepost.engines.redis.script import Script
from fencepost.engines.redis.trouble import explain, strange, unreachable
from fencepost.errors import EngineError, Unavailable

MOST_IDLE = 16
SUBSCRIBED = 1
REMEMBERED = 64
CLOSED = "the connections to the nodes were closed here"
DEAF = "fewer connections than a majority are left on which nodes tell of votes"


class Fleet:
    """`loads` are scripts that a node is to know as soon as it is met."""

    def __init__(self, nodes: Sequence[Address], timeout: float, loads: Sequence[Script] = GIVING_BACK) -> None:
        self._nodes = nodes
        self._timeout = timeout
        self._loads = loads
        self._free: list[Crew] = []
        self._closed = False

    def ask(
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
        crew = self._take(after)
        try:
            crew.ask(script, commands, ballot, after, late)
        except BaseException:
            # Nobody knows what was sent of what: nothing that comes on these can be trusted.
            crew.close()
            raise
        if self._closed or len(self._free) >= MOST_IDLE:
            crew.close()
        else:
            self._free.append(crew)

    def _take(self, after: Sequence[Ballot]) -> "Crew":
        """The one that was asked before, if that is free and nodes owe it an answer: they hear us in turn there."""
        try:
            crew = self._free.pop()
        except IndexError:
            return Crew(self._nodes, self._timeout, self._loads)
        # Nearly always it is the last, which has just been given back.
        if after and after[-1].crew is not crew:
            for other in list(self._free):
                if other is after[-1].crew:
                    try:
                        self._free.remove(other)
                    except ValueError:
                        break
                    self._free.append(crew)
                    return other
        return crew

    def close(self) -> None:
        self._closed = True
        while self._free:
            self._free.pop().close()


class Crew:
    """One connection to each node, for one caller at a time."""

    def __init__(self, nodes: Sequence[Address], timeout: float, loads: Sequence[Script]) -> None:
        self._nodes = nodes
        self._timeout = timeout
        self._loads = loads
        self.peers: list[Peer | None] = [None] * len(nodes)
        self._ticket = 0
        # What was asked last, for nodes that answer late that they do not know the script; and those that were told it.
        self._asked: deque[tuple[int, Script | None, Sequence[bytes], Ballot, set[int]]] = deque(maxlen=REMEMBERED)
        # Kept from one question to the next: to make it anew takes longer than to be woken by late answers.
        self._poll = poll()
        self._owners: dict[int, int] = {}
        self._check_at = 0.0

    def ask(
        self,
        script: Script | None,
        commands: Sequence[bytes],
        ballot: Ballot,
        after: Sequence[Ballot],
        late: Callable[[], Sequence[bytes]],
    ) -> None:
        self._ticket = ticket = self._ticket + 1
        now = monotonic()
        peers = self.peers
        others: Sequence[bytes] = ()
        if now > self._check_at:
            self._check(now)
        for earlier in after:
            for node in ballot.asked:
                if earlier.ways[node] is not None and earlier.may_overtake(node, peers[node]):
                    others = others or late()
                    commands = [*commands[:node], others[node], *commands[node + 1 :]]
        ballot.crew = self
        self._asked.append((ticket, script, commands, ballot, set()))
        for node in ballot.asked:
            peer = peers[node]
            try:
                if peer is None:
                    peer = self._replace(node)
                ballot.ways[node] = peer
                if peer.say(commands[node], ticket, now):
                    self._watch(peer, node)
            except (OSError, ValueError, EngineError) as error:
                self._drop(node, error, ballot)
        deadline = now + runtime.patience(self._timeout)
        while not ballot.decided:
            left = deadline - monotonic()
            ready = self._poll.poll(ceil(left * 1000)) if left > 0 else ()
            if not ready:
                break
            for fd, _ in ready:
                node = self._owners[fd]
                peer = peers[node]
                assert peer is not None
                try:
                    for heard, reply in peer.advance():
                        if heard == PUSHED:
                            # What it answers next may be to this, too.
                            raise ValueError("the server answered what nobody asked")
                        unknown = type(reply) is ReplyError and reply.code == "NOSCRIPT"
                        if unknown and self._load(peer, node, heard):
                            continue
                        if heard != ticket:
                            self._note(heard, node)
                        elif type(reply) is ReplyError:
                            ballot.fail(node, explain(reply, peer.address))
                        elif script is not None and not script.fits(reply):
                            raise strange(peer.address)
                        else:
                            ballot.hear(node, reply)
                    if peer.changed:
                        self._watch(peer, node)
                except (OSError, ValueError, EngineError) as error:
                    self._drop(node, error, ballot)
            if ballot.is_known and not ballot.decided:
                deadline = min(deadline, monotonic() + GRACE)
        if not ballot.decided and not ballot.is_known:
            waited = min(self._timeout, monotonic() - now)
            for node in ballot.pending:
                ballot.fail(node, unreachable(TimeoutError(), self._nodes[node], waited))

    def _note(self, ticket: int, node: int) -> None:
        """It has answered what nobody waits for any more."""
        for number, _, _, ballot, _ in reversed(self._asked):
            if number == ticket:
                ballot.ways[node] = None
                return

    def _check(self, now: float) -> None:
        """Let go of those that are over, now and then: to look each time would take its time."""
        self._check_at = now + min(self._timeout, TRUSTED) / 2
        for node, peer in enumerate(self.peers):
            try:
                if peer is not None and peer.is_over(now, self._timeout):
                    self._close(node)
            except (OSError, ValueError, EngineError):
                self._close(node)

    def _load(self, peer: Peer, node: int, ticket: int) -> bool:
        """It did not run. Also when nobody waits for it any more: others may wait for what it does.

        But a vote that nobody waits for may have been given back meanwhile: asked for now, nobody would give it back.
        A node that is told the script, and does not know it then, is not told again.
        """
        for number, script, commands, ballot, told in self._asked:
            if number == ticket and script is not None and node not in told:
                told.add(node)
                peer.say(script.load, NOBODY)
                if ticket == self._ticket or script not in CLAIMS:
                    peer.say(commands[node], ticket)
                else:
                    ballot.ways[node] = None
                return True
        return False

    def _watch(self, peer: Peer, node: int) -> None:
        """Wait for what it wants from now on."""
        for fd in [fd for fd, owner in self._owners.items() if owner == node]:
            self._unwatch(fd)
        self._poll.register(peer.fileno(), peer.wants)
        self._owners[peer.fileno()] = node
        peer.changed = False

    def _unwatch(self, fd: int) -> None:
        del self._owners[fd]
        self._poll.unregister(fd)

    def _replace(self, node: int) -> Peer:
        self._close(node)
        peer = self.peers[node] = Peer(self._nodes[node])
        for script in self._loads:
            peer.say(script.load, NOBODY)
        return peer

    def _drop(self, node: int, error: BaseException, ballot: Ballot) -> None:
        peer = self.peers[node]
        if peer is not None and not peer.is_open:
            # Nothing was sent to it.
            ballot.ways[node] = None
        self._close(node)
        if node in ballot.pending:
            known = error if isinstance(error, EngineError) else unreachable(error, self._nodes[node], self._timeout)
            ballot.fail(node, known)

    def _close(self, node: int) -> None:
        peer, self.peers[node] = self.peers[node], None
        for fd in [fd for fd, owner in self._owners.items() if owner == node]:
            self._unwatch(fd)
        if peer is not None:
            peer.close()

    def close(self) -> None:
        for node in range(len(self._nodes)):
            self._close(node)


class Ears:
    """Whoever waits first reads for all, and rings for the next."""

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
        # Those that listen or are on their way to it, those that listen, and what became of the others.
        self._peers: dict[int, Peer] = {}
        self._hearing: set[int] = set()
        self._pulses: dict[int, Pulse] = {}
        self._failures: dict[int, EngineError] = {}
        self._watch = Watch()
        self._alarm = alarm()
        self._poll = poll()
        self._owners: dict[int, tuple[int, Peer]] = {}
        self._changed = True
        self._mend_at = 0.0
        self._beginning = runtime.Mutex()
        self._closed = False
        self._generation = fork.generation()

    @property
    def is_open(self) -> bool:
        """Whether a majority is heard."""
        return len(self._hearing) >= self._majority

    def open(self) -> None:
        """Listen at all nodes from now on, or at least at a majority: what they publish after this returns is heard."""
        self._begin()
        waiter = Waiter()
        self._attend(
            waiter,
            boottime() + runtime.patience(self._timeout),
            lambda: self.is_open or len(self._peers) < self._majority,
        )
        if not self.is_open:
            why = "; ".join(str(error) for error in self._failures.values()) or "the others did not answer in time"
            raise Unavailable(f"{len(self._hearing)} nodes tell of votes, and {self._majority} are needed: {why}")

    def mend(self) -> None:
        """Try to hear again those that are not heard, now and then."""
        if len(self._peers) == len(self._nodes) or boottime() < self._mend_at:
            return
        self._begin()

    def _begin(self) -> None:
        self._mend_at = boottime() + self._timeout
        try:
            with self._beginning:
                for node, address in enumerate(self._nodes):
                    if node not in self._peers and not self._closed:
                        try:
                            peer = Peer(address)
                            peer.say(pack("SUBSCRIBE", self.channel), SUBSCRIBED)
                            self._pulses[node] = Pulse(self._timeout, boottime())
                            self._peers[node] = peer
                        except (OSError, ValueError, EngineError) as error:
                            self._lose(node, error)
        finally:
            # Whoever reads does not know of these yet.
            self._changed = True
            self._alarm.set()

    def wait(self, waiter: Waiter, until: float) -> None:
        """Return when the waiter has news, or at `until`. `Unavailable` if too little can be heard any more."""

        def is_over() -> bool:
            if not waiter.stirred and not self.is_open:
                raise Unavailable(DEAF)
            return waiter.stirred

        self._attend(waiter, until, is_over)

    def close(self) -> None:
        self._closed = True
        self._hearing.clear()
        for peer in list(self._peers.values()):
            if self._generation == fork.generation():
                peer.wake()
            peer.close()
        if self._generation == fork.generation():
            self._alarm.set()
        self._watch.ring_all()

    def _attend(self, waiter: Waiter, until: float, is_over: Callable[[], bool]) -> None:
        self._watch.present[waiter] = None
        try:
            while not is_over() and (left := min(until, waiter.again_at) - boottime()) > 0:
                if self._watch.take(waiter):
                    try:
                        waiter.bell = self._alarm
                        if not waiter.stirred:
                            self._read(min(left, LONGEST_NAP))
                    finally:
                        self._watch.hand_back()
                    continue
                waiter.bell = runtime.Event()
                if not waiter.stirred and not self._watch.is_vacant:
                    waiter.bell.wait(min(left, LONGEST_NAP))
        finally:
            self._watch.present.pop(waiter, None)
            self._watch.ring_next()

    def _read(self, patience: float) -> None:
        """Whatever comes within that time, delivered."""
        if self._changed:
            self._gather()
        for fd, _ in self._poll.poll(ceil(patience * 1000)):
            if fd == self._alarm.fd:
                self._alarm.clear()
                continue
            node, peer = self._owners[fd]
            try:
                for ticket, reply in peer.advance():
                    self._pulses[node].hear(boottime())
                    self._heard(node, ticket, reply)
                if peer.changed:
                    self._changed = True
            except (OSError, ValueError, EngineError) as error:
                self._lose(node, error)
            except BaseException:
                # A signal handler raised: what was read is lost, as with the connection.
                self._lose(node, ConnectionError("whoever read from it was interrupted"))
                raise
        for node in list(self._hearing):
            listening = self._peers.get(node)
            try:
                if listening is not None and self._pulses[node].asks(boottime()):
                    self._changed = listening.say(PING, PUSHED) or self._changed
            except (OSError, ValueError) as error:
                self._lose(node, error)

    def _gather(self) -> None:
        """What to wait for from now on. Only whoever reads may do so."""
        self._changed = False
        try:
            self._poll = poll()
            self._poll.register(self._alarm.fd, READ)
            self._owners = {}
            for node, peer in self._peers.copy().items():
                if (fd := peer.fileno()) >= 0:
                    self._owners[fd] = node, peer
                    self._poll.register(fd, peer.wants)
                    peer.changed = False
        except BaseException:
            # Whoever reads next does it again.
            self._changed = True
            raise

    def _heard(self, node: int, ticket: int, reply: Reply) -> None:
        if isinstance(reply, ReplyError):
            raise explain(reply, self._nodes[node])
        if ticket == SUBSCRIBED:
            self._failures.pop(node, None)
            self._hearing.add(node)
            self._watch.ring_all()
        else:
            message = message_of(reply)
            if message is not None:
                self._deliver(node, message)

    def _lose(self, node: int, error: BaseException) -> None:
        peer = self._peers.pop(node, None)
        self._hearing.discard(node)
        self._changed = True
        if peer is not None:
            peer.close()
        if not isinstance(error, EngineError):
            error = unreachable(error, self._nodes[node], self._timeout)
        self._failures[node] = error
        if not self.is_open:
            self._watch.ring_all()
