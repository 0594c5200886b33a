# Generated from src/fencepost/engines/redis/sentinel/_async/engine.py by tools/unasync.py. Do not edit: run `make gen`.
"""The server that sentinels say is the master now."""

from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import replace

from fencepost._runtime import threads as runtime
from fencepost._runtime.clock import boottime
from fencepost.contract.answer import Renewal
from fencepost.core.claim import Claim
from fencepost.core.holder import Holder
from fencepost.core.url import Url
from fencepost.drivers.tls import TLS_OPTIONS
from fencepost.engines.redis._sync.engine import RedisEngine
from fencepost.engines.redis._sync.server import Limit, Node, Server
from fencepost.engines.redis.address import MOST_PORT, OPTIONS, SENTINEL_PORT, Address, addresses, database
from fencepost.engines.redis.redlock.ballot import Ballot, any_reply
from fencepost.engines.redis.redlock.fleet import threads as fleet
from fencepost.engines.redis.resp import Reply, ReplyError, pack
from fencepost.engines.redis.script import Script
from fencepost.engines.redis.trouble import explain, shared_cause, strange
from fencepost.engines.redis.wire import threads as wire
from fencepost.errors import EngineError, Unavailable


class Master(Server):
    """Asked for again after every failure: whoever did not answer may be the master no longer.

    And at each renewal, by `follow`: a master that was deposed while nobody could tell it goes on answering as one.
    What counts is what most of the sentinels that answer say; one that was cut off does not know better.
    """

    def __init__(
        self,
        sentinels: list[Address],
        service: str,
        like: Address,
        patience: float,
        on_leave: Callable[[], None],
    ) -> None:
        self._sentinels = sentinels
        self._service = service
        self._like = like
        self._patience = patience
        self._on_leave = on_leave
        # Not longer: a renewal waits for them.
        self._fleet = fleet.Fleet(sentinels, patience / 4, loads=())
        self._finding = runtime.Turn(Unavailable)
        self._found: Node | None = None

    def run(self, script: Script, command: bytes, slot: int) -> Reply:
        node = self._found
        if node is None:
            with Limit(self._patience):
                return self._run(self._find(), script, command)
        return self._run(node, script, command)

    def _run(self, node: Node, script: Script, command: bytes) -> Reply:
        try:
            return node.run(script, command)
        except Unavailable:
            self._forget(node)
            raise

    def run_and_wait(self, script: Script, command: bytes, slot: int, replicas: int) -> tuple[Reply, int]:
        node = self._found or self._find()
        try:
            return node.run_and_wait(script, command, replicas)
        except Unavailable:
            self._forget(node)
            raise

    def listening_at(self) -> Address:
        return (self._found or self._find()).address

    def follow(self) -> None:
        """Leave a master that the sentinels call so no longer. Where none answers it is kept."""
        node = self._found
        if node is not None:
            named, _ = self._ask(node.address)
            if named and node.address not in named:
                self._forget(node)

    def close(self) -> None:
        self._fleet.close()
        if self._found is not None:
            self._found.close()

    def _forget(self, node: Node) -> None:
        if self._found is node:
            self._found = None
            self._on_leave()
        node.close()

    def _find(self) -> Node:
        until = boottime() + self._patience
        with Limit(self._patience), self._finding:
            if self._found is not None:
                return self._found
            if boottime() >= until:
                raise Unavailable(f"another asked for the master of '{self._service}', and nobody said it in time")
            named, failures = self._ask(None)
            for address in named:
                try:
                    self._check(address)
                except EngineError as error:
                    failures.append(error)
                else:
                    self._found = Node(address, self._patience)
                    return self._found
        why = "; ".join(str(error) for error in failures)
        raise Unavailable(f"no sentinel knows a master of '{self._service}': {why}") from shared_cause(failures)

    def _ask(self, known: Address | None) -> tuple[list[Address], list[EngineError]]:
        """Whom most sentinels name, and why others do not. Not all are heard where a majority names the one we know."""
        size = len(self._sentinels)
        ballot = Ballot(size, size, any_reply)
        if known is not None:
            ballot = Ballot(size, size // 2 + 1, lambda reply: self._named(reply) == known)
        command = pack("SENTINEL", "get-master-addr-by-name", self._service)
        self._fleet.ask(None, [command] * size, ballot)
        failures = list(ballot.failures.values())
        votes: Counter[Address] = Counter()
        for number, sentinel in enumerate(self._sentinels):
            address = self._named(ballot.replies[number])
            if address is not None:
                votes[address] += 1
            elif number not in ballot.failures:
                failures.append(Unavailable(f"the sentinel at {sentinel} knows no service '{self._service}'"))
        most = max(votes.values(), default=0)
        return [address for address, count in votes.items() if count == most], failures

    def _named(self, reply: Reply) -> Address | None:
        match reply:
            case [bytes(host), bytes(port)] if port.isdigit() and len(port) <= 5 and 0 < int(port) <= MOST_PORT:
                return self._like.at(host.decode(errors="replace"), int(port))
        return None

    def _check(self, address: Address) -> None:
        """A sentinel may not have heard yet, and a master may have been told otherwise meanwhile."""
        match _once(address, self._patience, pack("ROLE")):
            case [b"master", *_]:
                return
            case [bytes(role), *_]:
                raise Unavailable(f"redis at {address} is a {role.decode(errors='replace')} now")
        raise strange(address)


def _once(address: Address, patience: float, command: bytes) -> Reply:
    link = wire.Link(address, patience)
    try:
        reply = link.call(command)
    finally:
        link.close()
    if isinstance(reply, ReplyError):
        raise explain(reply, address)
    return reply


class SentinelEngine(RedisEngine):
    """redis+sentinel://host:26379,host:26379/service/0"""

    def _connect(self, url: Url, patience: float) -> Server:
        url.check_options(*OPTIONS, "tls", *TLS_OPTIONS, "sentinel_username", "sentinel_password")
        service, _, db = url.path.strip("/").partition("/")
        if not service:
            raise ValueError(f"{url} names no service: write redis+sentinel://host:26379,host:26379/service")
        named = addresses(url, port=SENTINEL_PORT)
        user, password = url.options.get("sentinel_username"), url.options.get("sentinel_password")
        sentinels = [replace(each, username=user, password=password) for each in named]
        like = replace(named[0], db=database(url, db))
        self._master = Master(sentinels, service, like, patience, lambda: self._ear.close())
        return self._master

    def lease_renew(self, holder: Holder, ttl: float, claims: Collection[Claim]) -> Renewal:
        self._master.follow()
        renewal = super().lease_renew(holder, ttl, claims)
        if self._ear.is_open and self._ear.address != self._master.listening_at():
            # It was opened while we moved.
            self._ear.close()
        return renewal


Engine = SentinelEngine
