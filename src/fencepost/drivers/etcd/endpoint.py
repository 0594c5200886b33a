"""Where the members of a cluster are, which of them we speak to, and who we are to them."""

import ssl
from dataclasses import dataclass

from fencepost.core.url import Url
from fencepost.drivers.etcd.http2 import Method
from fencepost.drivers.etcd.request import LEASE_KEEP_ALIVE, WATCH
from fencepost.drivers.tls import context_of

PORT = 2379
# A member cut off from the others ends these instead of being silent.
LONG_CALLS = (LEASE_KEEP_ALIVE, WATCH)


@dataclass(frozen=True, slots=True)
class Address:
    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class Endpoints:
    """The members, in the order of the URL. One is spoken to until it fails; then it is the turn of the next."""

    def __init__(self, url: Url) -> None:
        if (url.username is None) != (url.password is None):
            raise ValueError(f"{url} needs both a user and a password: write {url.scheme}://user:password@host:{PORT}")
        if url.path.strip("/"):
            raise ValueError(f"{url} has a path, which means nothing here: write ?prefix=…/ for one")
        hosts = url.hosts or (("127.0.0.1", None),)
        self.addresses = tuple(Address(host, port or PORT) for host, port in hosts)
        self.tls = _tls(url)
        self.credentials = None if url.username is None or url.password is None else (url.username, url.password)
        self.token: str | None = None
        self._current = 0

    def __len__(self) -> int:
        return len(self.addresses)

    def __str__(self) -> str:
        return str(self.current)

    @property
    def current(self) -> Address:
        return self.addresses[self._current]

    def in_turn(self) -> list[Address]:
        """All of them, the current one first."""
        return [*self.addresses[self._current :], *self.addresses[: self._current]]

    def leave(self, address: Address) -> None:
        """That one failed. Whoever notices it late changes nothing."""
        if self.current == address:
            self._current = (self._current + 1) % len(self.addresses)

    def method(self, path: str, address: Address) -> Method:
        extra = {"hasleader": "true"} if path in LONG_CALLS else {}
        if self.token is not None:
            extra["token"] = self.token
        return Method(path, str(address), tls=self.tls is not None, extra=extra)


def _tls(url: Url) -> ssl.SSLContext | None:
    if url.scheme != "etcds":
        return None
    context = context_of(url)
    context.set_alpn_protocols(["h2"])
    return context
