"""Engine addresses: scheme://user:password@host:port,host:port/path?option=value."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, unquote

SCHEME = re.compile(r"[A-Za-z][\w+.-]*")
# Options that are secrets, or addresses that may hold one.
SECRET = re.compile(r"(?i)([?&](?:[^=&]*(?:password|passwd|secret|token)|auth|listen)=)[^&]*")


@dataclass(frozen=True, slots=True)
class Url:
    scheme: str
    hosts: tuple[tuple[str, int | None], ...] = ()
    path: str = ""
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    options: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        """The address without its secrets."""
        user = "" if self.username is None and self.password is None else f"{self.username or ''}:***@"
        hosts = ",".join(
            (f"[{host}]" if ":" in host else host) + ("" if port is None else f":{port}") for host, port in self.hosts
        )
        query = "&".join(f"{key}={value}" for key, value in self.options.items())
        return masked(f"{self.scheme}://{user}{hosts}{self.path}{'?' + query if query else ''}")

    def check_options(self, *known: str) -> None:
        for option in self.options:
            if option not in known:
                choices = ", ".join(known) if known else "none"
                raise ValueError(f"unknown option '{option}' in {self}: {self.scheme}:// knows {choices}")


def masked(text: str) -> str:
    """An address as somebody typed it, right or wrong, without what may be a secret: for messages."""
    start, at, rest = text.rpartition("@")
    if at and not start.endswith(":***"):
        scheme, separator, _ = start.partition(":")
        user = "//***" if separator else "***"
        text = f"{scheme}{separator}{user}{at}{rest}"
    return SECRET.sub(r"\1***", text)


def parse_url(text: str) -> Url:
    if not isinstance(text, str):
        raise TypeError(f"an engine URL is text, not {type(text).__name__}")
    scheme, separator, rest = text.partition("://")
    if not separator or not SCHEME.fullmatch(scheme):
        raise ValueError(
            f"'{masked(text)}' is not an engine URL: write scheme://…, such as sqlite:///var/lib/shop/locks.db"
        )
    rest, _, query = rest.partition("?")
    authority, slash, path = rest.partition("/")
    credentials, at, addresses = authority.rpartition("@")
    username, colon, password = credentials.partition(":")
    return Url(
        scheme=scheme.lower(),
        hosts=tuple(_host(address, text) for address in addresses.split(",") if address),
        path=unquote(slash + path),
        username=unquote(username) if at and username else None,
        password=unquote(password) if colon else None,
        options=dict(parse_qsl(query, keep_blank_values=True)),
    )


def _host(address: str, text: str) -> tuple[str, int | None]:
    host, colon, port = address.rpartition(":")
    if not colon or address.endswith("]"):
        return address.strip("[]"), None
    if not port.isdecimal() or not 0 < int(port) < 65536:
        # Behind a stray slash or question mark in a password, its first part looks like a port.
        which = "the port" if "@" in text.partition(port)[2] else f"port '{port}'"
        raise ValueError(f"{which} in '{masked(text)}' is not a number between 1 and 65535")
    return host.strip("[]"), int(port)
