"""Where the servers are, who we are to them, and what our nodes are like."""

import ssl
from dataclasses import dataclass, field

from fencepost.core.url import Url
from fencepost.drivers.tls import TLS_OPTIONS, optional_context
from fencepost.engines.zookeeper import jute

PORT = 2181
RECIPES = ("kazoo", "curator")
OPTIONS = ("prefix", "recipe", "acl", "auth", "sasl", "service", "tls", *TLS_OPTIONS)
MECHANISMS = ("DIGEST-MD5", "GSSAPI")


@dataclass(frozen=True, slots=True)
class Address:
    hosts: tuple[tuple[str, int], ...]
    # What comes before the name of a lock in the path of its node, with the slash.
    prefix: str = "/"
    recipe: str = "kazoo"
    acl: bytes = jute.OPEN_TO_ALL
    # What to send before anything else: schemes and credentials.
    auth: tuple[tuple[str, bytes], ...] = field(default=(), repr=False)
    sasl: str | None = None
    service: str = "zookeeper"
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    tls: ssl.SSLContext | None = field(default=None, repr=False)

    def __str__(self) -> str:
        return ",".join(written(host) for host in self.hosts)


def written(host: tuple[str, int]) -> str:
    name, port = host
    return f"[{name}]:{port}" if ":" in name else f"{name}:{port}"


def locate(url: Url) -> Address:
    url.check_options(*OPTIONS)
    options = url.options
    sasl = _choice(url, "sasl", MECHANISMS) if "sasl" in options else None
    auth = []
    if "auth" in options:
        scheme, colon, credentials = options["auth"].partition(":")
        if not colon:
            raise ValueError(f"option 'auth' in {url} is a scheme and credentials: write auth=digest:user:password")
        auth.append((scheme, credentials.encode()))
    if url.username is not None and sasl is None:
        auth.append(("digest", f"{url.username}:{url.password or ''}".encode()))
    return Address(
        hosts=tuple((host, port or PORT) for host, port in url.hosts) or (("127.0.0.1", PORT),),
        prefix=_prefix(url),
        recipe=_choice(url, "recipe", RECIPES),
        acl=_acl(url, identified=bool(auth or sasl)),
        auth=tuple(auth),
        sasl=sasl,
        service=options.get("service", "zookeeper"),
        username=url.username,
        password=url.password,
        tls=optional_context(url),
    )


def _prefix(url: Url) -> str:
    folder = url.path.strip("/")
    prefix = (f"/{folder}/" if folder else "/") + url.options.get("prefix", "").lstrip("/")
    if "//" in prefix or any(part in (".", "..") for part in prefix.split("/")):
        raise ValueError(f"{url.shown(prefix)} in {url} is no path of ZooKeeper's: write zookeeper://host:2181/folder")
    return prefix


def _choice(url: Url, option: str, choices: tuple[str, ...]) -> str:
    chosen = url.options.get(option, choices[0])
    if chosen not in choices:
        raise ValueError(f"option '{option}' in {url} is {url.shown(chosen)}: choose from {', '.join(choices)}")
    return chosen


def _acl(url: Url, *, identified: bool) -> bytes:
    """Who may see and remove our nodes: all, unless we say who we are and ask for `acl=creator`, or a list."""
    text = url.options.get("acl", "open")
    if text == "open":
        return jute.OPEN_TO_ALL
    if text == "creator":
        if not identified:
            raise ValueError(f"acl=creator in {url} needs somebody: give a user and password, or auth=, or sasl=")
        return jute.acl([(sum(jute.PERMISSIONS.values()), "auth", "")])
    entries = []
    for entry in text.split(","):
        scheme, _, rest = entry.partition(":")
        who, colon, letters = rest.rpartition(":")
        if not colon or not letters or not set(letters) <= set(jute.PERMISSIONS):
            raise ValueError(f"{url.shown(entry)} in {url} is no ACL: write scheme:id:cdrwa, 'open' or 'creator'")
        entries.append((sum(jute.PERMISSIONS[letter] for letter in set(letters)), scheme, who))
    return jute.acl(entries)
