# Generated from src/fencepost/engines/redis/sentinel/_async/engine.py by tools/unasync.py. Do not edit: run `make gen`.
"""The server that sentinels say is the master now."""

from dataclasses import replace

from fencepost._runtime import threads as runtime
from fencepost.core.url import Url
from fencepost.drivers.tls import TLS_OPTIONS
from fencepost.engines.redis._sync.engine import RedisEngine
from fencepost.engines.redis._sync.server import Node, Server
from fencepost.engines.redis.address import OPTIONS, SENTINEL_PORT, Address, addresses, database
from fencepost.engines.redis.resp import Reply, ReplyError, pack
from fencepost.engines.redis.script import Script
from fencepost.engines.redis.trouble import explain
from fencepost.engines.redis.wire import threads as wire
from fencepost.errors import EngineError, Unavailable


class Master(Server):
    """Asked for again after every failure: whoever did not answer may be the master no longer."""

    def __init__(self, sentinels: list[Address], service: str, like: Address, patience: float) -> None:
        self._sentinels = sentinels
        self._service = service
        self._like = like
        self._patience = patience
        self._finding = runtime.Mutex()
        self._found: Node | None = None

    def run(self, script: Script, command: bytes, slot: int) -> Reply:
        node = self._found or self._find()
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

    def close(self) -> None:
        if self._found is not None:
            self._found.close()

    def _forget(self, node: Node) -> None:
        if self._found is node:
            self._found = None
        node.close()

    def _find(self) -> Node:
        with self._finding:
            if self._found is not None:
                return self._found
            patience = self._patience / len(self._sentinels)
            failures = []
            for sentinel in self._sentinels:
                try:
                    address = self._ask(sentinel, patience)
                    self._check(address)
                except EngineError as error:
                    failures.append(str(error))
                else:
                    self._found = Node(address, self._patience)
                    return self._found
        raise Unavailable(f"no sentinel knows a master of '{self._service}': {'; '.join(failures)}")

    def _ask(self, sentinel: Address, patience: float) -> Address:
        reply = _once(sentinel, patience, pack("SENTINEL", "get-master-addr-by-name", self._service))
        if reply is None:
            raise Unavailable(f"the sentinel at {sentinel} knows no service '{self._service}'")
        return self._like.at(reply[0].decode(), int(reply[1]))

    def _check(self, address: Address) -> None:
        """A sentinel may not have heard yet, and a master may have been told otherwise meanwhile."""
        role = _once(address, self._patience, pack("ROLE"))
        if role[0] != b"master":
            raise Unavailable(f"redis at {address} is a {role[0].decode()} now")


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
        return Master(sentinels, service, replace(named[0], db=database(url, db)), patience)


Engine = SentinelEngine
