"""Who is measured. Each keeps one session and one connection for all cycles."""

import base64
import json
import re
import socket
from typing import Any, ClassVar

import consul

from benchmarks import ours
from benchmarks.contestant import Contestant
from fencepost.core.claim import Ask, Request
from fencepost.core.holder import Holder
from fencepost.engines.consul import shortcut
from fencepost.engines.consul.lease import Lease

TTL = 600.0
FLAGS = 0x2DDCCBC058A50C18


class Bare(Contestant):
    """Two requests over one socket that was connected before, and no more of HTTP than they need."""

    def __init__(self, place: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", place))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        made = self.ask(self.request("/v1/session/create", b'{"TTL":"600s","LockDelay":"0s","Behavior":"delete"}'))
        self.session = json.loads(made[made.index(b"\r\n\r\n") :])["ID"]

    def request(self, path: str, body: bytes) -> bytes:
        head = f"PUT {path} HTTP/1.1\r\nHost: consul\r\nContent-Length: {len(body)}\r\n\r\n"
        return head.encode() + body

    def ask(self, request: bytes) -> bytes:
        self._socket.sendall(request)
        answer = self._socket.recv(65536)
        if not answer.startswith(b"HTTP/1.1 200"):
            raise RuntimeError(f"consul answered {answer!r}")
        return answer

    def close(self) -> None:
        self.ask(self.request(f"/v1/session/destroy/{self.session}", b""))
        self._socket.close()


class BareLock(Bare):
    """Acquire and release of the key, as the documentation of Consul shows it."""

    name: ClassVar[str] = "bare socket, KV acquire and release"

    def __init__(self, place: int) -> None:
        super().__init__(place)
        self._acquire = self.request(f"/v1/kv/bare/.lock?acquire={self.session}&flags={FLAGS}", b"held")
        self._release = self.request(f"/v1/kv/bare/.lock?release={self.session}", b"held")

    def acquire(self) -> None:
        if not self.ask(self._acquire).endswith(b"true"):
            raise RuntimeError("not acquired")

    def release(self) -> None:
        if not self.ask(self._release).endswith(b"true"):
            raise RuntimeError("not released")


class BareTransaction(Bare):
    """The same as two transactions, the first of which tells the token."""

    name: ClassVar[str] = "bare socket, two transactions"
    tokens = True

    def __init__(self, place: int) -> None:
        super().__init__(place)
        value = base64.b64encode(b"held").decode()
        key = "bare-transaction/.lock"
        lock = {"Verb": "lock", "Key": key, "Value": value, "Session": self.session, "Flags": FLAGS}
        self._acquire = self.request("/v1/txn", json.dumps([{"KV": lock}]).encode())
        self._release = self.request("/v1/txn", json.dumps([{"KV": {"Verb": "delete", "Key": key}}]).encode())
        self._index = re.compile(rb'"ModifyIndex": ?(\d+)')
        self.token = 0

    def acquire(self) -> None:
        found = self._index.search(self.ask(self._acquire))
        assert found is not None
        self.token = int(found[1])

    def release(self) -> None:
        self.ask(self._release)


class BareSame(Bare):
    """The very transactions that fencepost sends: no late claim is granted, nobody overtakes, a loss is told."""

    name: ClassVar[str] = "bare socket, transactions of fencepost"
    tokens = True
    key: ClassVar[str] = "bare-same/.lock"

    def __init__(self, place: int) -> None:
        super().__init__(place)
        lease = Lease(Holder("0" * 24, "bare"), TTL, "bare-same/")
        lease.session = self.session
        made = self.ask(self.request("/v1/txn", json.dumps(lease.new_epoch()).encode()))
        lease.epoch = json.loads(made[made.index(b"\r\n\r\n") :])["Results"][0]["KV"]["ModifyIndex"]
        claim = shortcut.claim(lease, Request(lease.holder, 1, (Ask("lock"),)), self.key, 0.0)
        self._acquire = self.request("/v1/txn", claim)
        self.token: int | None = 0

    def acquire(self) -> None:
        self.token = shortcut.token_of(self.ask(self._acquire))
        if self.token is None:
            raise RuntimeError("not acquired")

    def release(self) -> None:
        self.ask(self.request("/v1/txn", shortcut.release(self.key, self.token or 0)))


class FencepostConsul(ours.Fencepost):
    name: ClassVar[str] = "fencepost consul://"
    ttl = TTL

    def url(self, place: Any) -> str:
        return f"consul://127.0.0.1:{place}"


class FencepostAsync(ours.FencepostAsync):
    name: ClassVar[str] = "fencepost consul://, async"
    ttl = TTL
    across_processes: ClassVar[bool] = False

    def url(self, place: Any) -> str:
        return f"consul://127.0.0.1:{place}"


class PyConsul(Contestant):
    """py-consul has no lock of its own: its key-value calls, as its documentation shows. Waits by asking again."""

    name: ClassVar[str] = "py-consul"
    across_processes: ClassVar[bool] = False

    def __init__(self, place: int) -> None:
        self._client = consul.Consul(port=place)
        self._session = self._client.session.create(ttl=600, lock_delay=0, behavior="delete")

    def acquire(self) -> None:
        if not self._client.kv.put("py-consul/.lock", "held", acquire=self._session, flags=FLAGS):
            raise RuntimeError("not acquired")

    def release(self) -> None:
        self._client.kv.put("py-consul/.lock", "held", release=self._session)

    def close(self) -> None:
        self._client.session.destroy(self._session)


ALL: dict[str, type[Contestant]] = {
    kind.name: kind for kind in (BareLock, BareTransaction, BareSame, FencepostConsul, FencepostAsync, PyConsul)
}
