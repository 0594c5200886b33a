"""Who is alive: processes of this host, never mistaken for a later one with the same pid."""

import os
import select
from typing import NamedTuple

MOST_PEERS = 256
# The number of the namespace of time that the host starts with.
HOST_TIME = 0xEFFFFFFA


class Identity(NamedTuple):
    """A process for ever: its pid, its start in ticks since boot, and the namespace that both are from."""

    pid: int
    started: int
    namespace: int


def started(pid: int) -> int:
    """When the process started, in ticks since boot. OSError if there is none."""
    with open(f"/proc/{pid}/stat", "rb") as file:
        # The command's name comes second, in brackets, and may hold anything.
        return int(file.read().rpartition(b")")[2].split()[19])


def namespace() -> int:
    """What the pid and the start mean something in: starts are on the clock, and so on the namespace, of time too."""
    pids = os.stat("/proc/self/ns/pid").st_ino
    try:
        time = os.stat("/proc/self/ns/time").st_ino
    except FileNotFoundError:
        return pids
    return pids if time == HOST_TIME else pids << 31 | time & 0x7FFFFFFF


def myself() -> Identity:
    """This process; with namespace 0 where /proc does not say: then only its lease tells of its death."""
    try:
        return Identity(os.getpid(), started(os.getpid()), namespace())
    except OSError:
        return Identity(os.getpid(), 0, 0)


class Peer:
    """Another process, watched through a descriptor that becomes readable when it dies, also as a zombie.

    `fd` is -1 where its death can not be seen: only its lease tells then.
    """

    __slots__ = ("_poll", "dead", "fd")

    def __init__(self, identity: Identity) -> None:
        self.fd = -1
        self.dead = False
        try:
            self.fd = os.pidfd_open(identity.pid)
        except ProcessLookupError:
            self.dead = True
            return
        except OSError:
            return
        # Only now: what is read belongs to the process of the descriptor, or to none.
        try:
            self.dead = started(identity.pid) != identity.started
        except OSError:
            # Dead, which the descriptor tells, or hidden from us.
            pass
        self._poll = select.poll()
        self._poll.register(self.fd, select.POLLIN)

    def is_dead(self) -> bool:
        if not self.dead and self.fd >= 0:
            self.dead = bool(self._poll.poll(0))
        return self.dead

    def close(self) -> None:
        fd, self.fd = self.fd, -1
        if fd >= 0:
            os.close(fd)


class Peers:
    """The processes one engine has met, each looked up once."""

    def __init__(self) -> None:
        self.me = myself()
        self._peers: dict[Identity, Peer] = {}

    def peer(self, identity: Identity) -> Peer | None:
        """None for this process itself, and for those whose pid means nothing here."""
        found = self._peers.get(identity)
        if found is None:
            if identity.namespace != self.me.namespace or not identity.namespace or identity == self.me:
                return None
            found = self._peers[identity] = Peer(identity)
        return found

    def is_dead(self, identity: Identity) -> bool:
        peer = self.peer(identity)
        return peer is not None and peer.is_dead()

    def trim(self, watched: set[Peer]) -> None:
        """Do not hoard descriptors."""
        if len(self._peers) > MOST_PEERS:
            for identity, peer in self._peers.copy().items():
                if peer not in watched:
                    del self._peers[identity]
                    peer.close()

    def close(self) -> None:
        for peer in self._peers.values():
            peer.close()
        self._peers.clear()
