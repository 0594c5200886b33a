# Generated from src/fencepost/engines/redis/_async/server.py by tools/unasync.py. Do not edit: run `make gen`.
"""One server, and how a script runs on it."""

from collections.abc import Sequence

from fencepost._runtime import threads as runtime
from fencepost._runtime.clock import boottime
from fencepost.engines.redis.address import Address
from fencepost.engines.redis.resp import Reply, ReplyError, pack
from fencepost.engines.redis.script import Script
from fencepost.engines.redis.trouble import explain, strange
from fencepost.engines.redis.wire import threads as wire
from fencepost.errors import EngineError, Unavailable


class Limit(runtime.Limit):
    """What takes several exchanges, or a turn to wait for, has the time of one."""

    __slots__ = ()
    late = Unavailable

    def __init__(self, patience: float) -> None:
        super().__init__(runtime.BootClock(), boottime() + patience)


class Node:
    """Runs scripts by digest on one server. A script it does not know did not run: it is loaded, and sent again."""

    def __init__(self, address: Address, patience: float) -> None:
        self.address = address
        self.link = wire.Link(address, patience)
        # WAIT holds up all that comes after it on its connection.
        self._waiting = wire.Link(address, patience)
        self._patience = patience

    def run(self, script: Script, command: bytes) -> Reply:
        return self.settle(script, command, self.link.call(command))

    def settle(self, script: Script, command: bytes, reply: Reply) -> Reply:
        """The answer, if the reply is one, or can be had by loading the script."""
        if type(reply) is ReplyError:
            if reply.code != "NOSCRIPT":
                raise explain(reply, self.address)
            loaded, reply = self.link.calls(script.load + command, 2)
            self._check(loaded, reply)
        if not script.fits(reply):
            self.link.reset()
            raise strange(self.address)
        return reply

    def run_and_wait(self, script: Script, command: bytes, replicas: int) -> tuple[Reply, int]:
        """Run it, and see how many replicas have all of it."""
        wait = pack("WAIT", replicas, max(1, int(self._patience * 500)))
        _, reply, seen = self._waiting.calls(script.load + command + wait, 3)
        self._check(reply, seen)
        if not script.fits(reply) or type(seen) is not int:
            self._waiting.reset()
            raise strange(self.address)
        return reply, seen

    def _check(self, *replies: Reply) -> None:
        for each in replies:
            if isinstance(each, ReplyError):
                raise explain(each, self.address)

    def close(self) -> None:
        self.link.close()
        self._waiting.close()


class Server:
    """A single server, for all slots."""

    clustered = False

    def __init__(self, address: Address, patience: float) -> None:
        self._node = Node(address, patience)
        self._call = self._node.link.call

    def run(self, script: Script, command: bytes, slot: int) -> Reply:
        reply = self._call(command)
        if type(reply) is int and script.counts:
            return reply
        return self._node.settle(script, command, reply)

    def run_and_wait(self, script: Script, command: bytes, slot: int, replicas: int) -> tuple[Reply, int]:
        return self._node.run_and_wait(script, command, replicas)

    def run_all(self, script: Script, commands: Sequence[tuple[int, bytes]]) -> list[Reply]:
        """Several calls of one script, each in its slot."""
        replies = self.try_all(script, commands)
        for reply in replies:
            if isinstance(reply, EngineError):
                raise reply
        return replies

    def try_all(self, script: Script, commands: Sequence[tuple[int, bytes]]) -> list[Reply | EngineError]:
        """The same; where one has no answer, that has an error instead."""
        return [self.run(script, command, slot) for slot, command in commands]

    def indices(self) -> list[tuple[int, bytes]]:
        """Every index of names there is, with its slot."""
        return [(0, b"fencepost\0names")]

    def listening_at(self) -> Address:
        """Where to listen for what is published."""
        return self._node.address

    def close(self) -> None:
        self._node.close()
