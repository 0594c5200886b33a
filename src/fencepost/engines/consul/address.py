"""Where the agents are, who we are to them, and how our sessions are to be opened."""

import ssl
from dataclasses import dataclass, field
from math import ceil
from typing import Any
from urllib.parse import quote

from fencepost.core.url import Url
from fencepost.drivers.tls import TLS_OPTIONS, context_of

PORT = 8500
TLS_PORT = 8501
OPTIONS = ("prefix", "dc", "ns", "lock_delay", "behavior", "checks", "session_ttl_min")
BEHAVIORS = ("delete", "release")
MOST_LOCK_DELAY = 60.0
# A server ends a session between once and twice its time to live after its last renewal.
SESSION_OVERRUN = 2.0
# What a server allows unless told otherwise, and the shortest that makes sense where it was told.
TTL_MIN = 10.0
LEAST_TTL = 0.1


@dataclass(frozen=True, slots=True)
class Host:
    """One agent."""

    host: str
    port: int
    tls: ssl.SSLContext | None = field(default=None, repr=False)

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Address:
    hosts: tuple[Host, ...]
    prefix: str
    # What comes after the path of every request, and the lines that every request has in common.
    query: str
    headers: bytes = field(repr=False)
    lock_delay: float | None
    behavior: str
    checks: tuple[str, ...]
    ttl_min: float

    def delay(self, ttl: float) -> float:
        """For how long nobody may lock what a session had that ended before it gave it back, in seconds.

        A session may end before its holder knows: it belongs to the node of the agent that opened it, and goes with
        that when the agent leaves or is removed. Then its lease must be over before anybody else is granted anything.
        """
        return min(ttl, MOST_LOCK_DELAY) if self.lock_delay is None else self.lock_delay

    def check_ttl(self, ttl: float) -> None:
        if self.checks and ttl > MOST_LOCK_DELAY:
            raise ValueError(
                f"with the option 'checks' a session may end long before its ttl of {ttl:g} s is over, and consul "
                f"keeps others out for {MOST_LOCK_DELAY:g} s at most: use a ttl of {MOST_LOCK_DELAY:g} s or less, "
                "or no checks"
            )

    @property
    def overrun(self) -> float:
        """How many times its ttl a lease may outlive its holder, at most: the session, and then the delay."""
        return SESSION_OVERRUN + (1.0 if self.lock_delay is None else self.lock_delay / max(self.ttl_min, LEAST_TTL))

    def session(self, name: str, ttl: float) -> dict[str, Any]:
        """What the agent is told of a session when it is opened."""
        return {
            "Name": name,
            "TTL": f"{int(ttl * 1000)}ms",
            "LockDelay": f"{ceil(self.delay(ttl) * 1000)}ms",
            "Behavior": self.behavior,
            "NodeChecks": self.checks,
        }


def locate(url: Url) -> Address:
    secure = url.scheme == "consuls"
    url.check_options(*OPTIONS, *(TLS_OPTIONS if secure else ()))
    if url.path.strip("/"):
        raise ValueError(f"{url} has a path, which means nothing here: write ?prefix=…/ for one")
    behavior = url.options.get("behavior", "delete")
    if behavior not in BEHAVIORS:
        raise ValueError(f"option 'behavior' in {url} is 'delete' or 'release', not {url.shown(behavior)}")
    tls = context_of(url) if secure else None
    port = TLS_PORT if secure else PORT
    where = {key: url.options[key] for key in ("dc", "ns") if key in url.options}
    lock_delay = _seconds(url, "lock_delay", MOST_LOCK_DELAY) if "lock_delay" in url.options else None
    return Address(
        hosts=tuple(Host(host, each or port, tls) for host, each in url.hosts or (("127.0.0.1", None),)),
        prefix=url.options.get("prefix", ""),
        query="&".join(f"{key}={quote(value, safe='')}" for key, value in where.items()),
        headers=_headers(url),
        lock_delay=lock_delay,
        behavior=behavior,
        checks=tuple(check for check in url.options.get("checks", "").split(",") if check),
        ttl_min=_seconds(url, "session_ttl_min", TTL_MIN) if "session_ttl_min" in url.options else TTL_MIN,
    )


def _headers(url: Url) -> bytes:
    token = url.password or ""
    if any(not char.isprintable() or not char.isascii() for char in token):
        raise ValueError(f"the ACL token in {url} has characters that no token has")
    return b"X-Consul-Token: %b\r\n" % token.encode() if token else b""


def _seconds(url: Url, option: str, most: float) -> float:
    try:
        seconds = float(url.options[option])
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= most:
        raise ValueError(f"option '{option}' in {url} is a number of seconds from 0 to {most:g}")
    return seconds
