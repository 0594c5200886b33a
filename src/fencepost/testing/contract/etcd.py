"""The sites of etcd, with `etcdctl lock`, which is the lock of its Go package, as the neighbour."""

import secrets
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

import fencepost.testing.etcd as etcd
from fencepost.drivers.etcd import request
from fencepost.testing.condition import until
from fencepost.testing.contract.hostile import VALUES
from fencepost.testing.contract.site import Site

TTL = 2.0


class EtcdctlLock:
    """`etcdctl lock` on one name. It knows no try: one that has to wait is told to leave the queue."""

    def __init__(self, site: Site, name: str) -> None:
        self._name = name
        self._client = etcd.client(url=site.url)
        scheme, _, rest = site.url.partition("://")
        address, _, query = rest.partition("?")
        web = "https" if scheme == "etcds" else "http"
        self._options = ["--endpoints", ",".join(f"{web}://{each}" for each in address.split(","))]
        if scheme == "etcds":
            self._options += ["--cacert", query.removeprefix("ca=")]
        self._process: subprocess.Popen[str] | None = None

    def try_acquire(self) -> bool:
        before = self._keys()
        self._process = etcd.etcdctl(*self._options, "lock", self._name, "--ttl", "20")
        until(lambda: len(self._keys()) == len(before) + 1)
        (own,) = set(self._keys()) - set(before)
        if not before:
            assert self._process.stdout is not None
            assert self._process.stdout.readline().encode().strip() == own
            return True
        self._end()
        # Told to leave while it is being put into the queue, it leaves its key behind.
        self._client.commit(request.transaction([], [request.delete(own)]))
        return False

    def release(self) -> None:
        self._end()
        self._client.close()

    def _keys(self) -> list[bytes]:
        start = f"{self._name}/".encode()
        found = self._client.read(request.select(start, request.prefix_end(start), keys_only=True))
        return [pair.key for pair in found.pairs]

    def _end(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGINT)
        self._process.communicate(timeout=20)


@contextmanager
def site(scheme: str) -> Iterator[Site]:
    """The server of that scheme, emptied."""
    if scheme == "etcd":
        port = etcd.shared_server()
        url = f"etcd://127.0.0.1:{port}"
    else:
        port, certificate = etcd.shared_tls()
        url = f"etcds://127.0.0.1:{port}?ca={certificate}"
    etcd.empty(port, url)
    yield Site(url, ttl=TTL, neighbours={"etcdctl": EtcdctlLock}, strangers=strangers())


def strangers() -> dict[str, Callable[[Site, str], None]]:
    # Of one that would hold, if it were ours.
    almost = b'{"serial":"1","holder":"h","label":"l","mode":"shared","weight":%b}'
    found = VALUES | {"a weight of no size": almost % (b"9" * 4000), "a weight of no kind": almost % b'"x"'}
    return {title: partial(_leave, value=value) for title, value in found.items()}


def _leave(site: Site, name: str, value: bytes) -> None:
    """As a contender, and beside the contenders, and as the record of an eviction."""
    client, lease = etcd.client(url=site.url), secrets.randbits(62) + 1
    client.lease_grant(lease, 600)
    keys = [b"%x" % lease, b"zzz", b"\xff\xfe/%x" % lease]
    puts = [request.put(name.encode() + b"/" + key, value, lease) for key in keys]
    puts += [request.put(f"\0fencepost/evicted/{name}\0".encode() + key, value, lease) for key in (b"5", b"zzz")]
    client.commit(request.transaction([], puts))
    client.close()
