"""Where a Redis server is, and who we are to it."""

import ssl
from dataclasses import dataclass, field, replace

from fencepost.core.url import Url, number_in
from fencepost.drivers.tls import TLS_OPTIONS, context_of, optional_context
from fencepost.engines.redis.resp import pack

PORT = 6379
SENTINEL_PORT = 26379
MOST_PORT = 65_535
MOST_DATABASE = MOST_REPLICAS = 2**31 - 1
OPTIONS = ("prefix", "wait_replicas")


@dataclass(frozen=True, slots=True)
class Address:
    host: str = "127.0.0.1"
    port: int = PORT
    socket: str | None = None
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    db: int = 0
    tls: ssl.SSLContext | None = field(default=None, repr=False)

    def __str__(self) -> str:
        if self.socket is not None:
            return self.socket
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    def at(self, host: str, port: int) -> "Address":
        return replace(self, host=host, port=port)

    def greeting(self) -> list[bytes]:
        """What to send first; all of it must be answered with OK."""
        commands = []
        if self.password is not None:
            user = () if self.username is None else (self.username,)
            commands.append(pack("AUTH", *user, self.password))
        if self.db:
            commands.append(pack("SELECT", self.db))
        return commands


def addresses(url: Url, *, port: int = PORT) -> list[Address]:
    """Every server the URL names. Its user, password, database and certificates are the same at all of them."""
    base = Address(username=url.username, password=url.password, tls=_tls(url))
    return [base.at(host, each or port) for host, each in url.hosts] or [base.at("127.0.0.1", port)]


def locate(url: Url) -> Address:
    """The one server of redis://, rediss:// or redis+unix://."""
    if url.scheme == "redis+unix":
        url.check_options(*OPTIONS, "db")
        if url.hosts or not url.path.startswith("/"):
            raise ValueError(f"{url} names no socket: write redis+unix:///run/redis/redis.sock?db=0")
        base = Address(username=url.username, password=url.password, socket=url.path)
        return replace(base, db=database(url, url.options.get("db", "")))
    url.check_options(*OPTIONS, *(TLS_OPTIONS if url.scheme == "rediss" else ()))
    if len(url.hosts) > 1:
        raise ValueError(f"{url} names {len(url.hosts)} servers: use redis+sentinel://, redis+cluster:// or redlock://")
    return replace(addresses(url)[0], db=database(url, url.path.strip("/")))


def database(url: Url, text: str) -> int:
    number = number_in(text or "0", MOST_DATABASE)
    if number is None:
        what = f"{url.shown(text)} in {url} is not a number from 0 to {MOST_DATABASE}"
        raise ValueError(f"database {what}: write {url.scheme}://host:6379/0")
    return number


def count(url: Url, option: str) -> int:
    return url.whole_number(option, MOST_REPLICAS)


def _tls(url: Url) -> ssl.SSLContext | None:
    return context_of(url) if url.scheme == "rediss" else optional_context(url)
