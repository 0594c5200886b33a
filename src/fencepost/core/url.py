"""Engine addresses: scheme://user:password@host:port,host:port/path?option=value."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from urllib.parse import unquote, unquote_plus

from fencepost.core.name import check_text
from fencepost.core.shown import MOST_SHOWN
from fencepost.errors import printable

SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9_+.-]*")
# Options that are secrets, or addresses that may hold one.
SECRET = re.compile(r"(?i)([?&](?:[^=&]*(?:password|passwd|secret|token)|auth|listen)=)[^&]*")
# Of an option, whatever is in it.
VALUE = re.compile(r"(?s)=.*?(?=&[^=&]*=|$)")
MOST_PORT = 65_535
MOST_CHARACTERS = 65_536
# In brackets: an address of IPv6, perhaps with the name of a network interface.
IPV6 = re.compile(r"[0-9A-Fa-f.]*:[0-9A-Fa-f:.]*(?:%[\w.-]+)?", re.ASCII)
# Beside what cannot be printed: what no host has, and what a mistyped address leaves in one.
NO_HOST = re.compile(r"[\s\[\]:@?#\\]")


@dataclass(frozen=True, slots=True)
class Url:
    scheme: str
    hosts: tuple[tuple[str, int | None], ...] = ()
    path: str = ""
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    options: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        """The address without its secrets, for a message."""
        return masked(self._whole())

    def _whole(self) -> str:
        """Without user and password, which may still stand elsewhere: an address may be mistyped."""
        user = "" if self.username is None and self.password is None else f"{self.username or ''}:***@"
        hosts = ",".join(
            (f"[{host}]" if ":" in host else host) + ("" if port is None else f":{port}") for host, port in self.hosts
        )
        query = "&".join(f"{key}={value}" for key, value in self.options.items())
        return f"{self.scheme}://{user}{hosts}{self.path}{'?' + query if query else ''}"

    def shown(self, part: str) -> str:
        """A part of the address for a message, in quotes; `'***'` where it may be of a secret."""
        # A stray slash or question mark in a password makes the rest of it a path or an option. See `masked`.
        known = part in _masked(self._whole())
        more = "…" if len(part) > MOST_SHOWN else ""
        return f"'{printable(part[:MOST_SHOWN])}{more}'" if known else "'***'"

    def check_options(self, *known: str) -> None:
        for option in self.options:
            if option not in known:
                choices = ", ".join(known) if known else "none"
                raise ValueError(
                    f"unknown option {self.shown(option)} in {self._without(known)}: {self.scheme}:// knows {choices}"
                )

    def _without(self, known: tuple[str, ...]) -> str:
        """For a message, without the values of all other options: a mistyped name may be that of a secret."""
        if any("@" in value for name, value in self.options.items() if name not in known):
            # Or else all before it is user and password, cut off by a stray slash or question mark.
            return f"{self.scheme}://***"
        return str(
            replace(self, options={key: value if key in known else "***" for key, value in self.options.items()})
        )

    def whole_number(self, option: str, most: int) -> int:
        """The number that an option is; 0 if it is left out."""
        text = self.options.get(option, "0")
        number = number_in(text, most)
        if number is None:
            raise ValueError(f"option '{option}' in {self} is a number from 0 to {most}, not {self.shown(text)}")
        return number


def number_in(text: str, most: int) -> int | None:
    """The number from 0 to `most` that a part of an address is: without signs, and in no digits of other scripts."""
    plain = text.isascii() and text.isdecimal() and len(text) <= len(str(most))
    return int(text) if plain and int(text) <= most else None


def masked(text: str) -> str:
    """An address as somebody typed it, right or wrong, on one line and without what may be a secret: for messages."""
    return printable(_masked(text))


def _masked(text: str) -> str:
    start, at, rest = text.rpartition("@")
    if at and not start.endswith(":***"):
        scheme, separator, _ = start.partition(":")
        user = "//***" if separator else "***"
        text = f"{scheme}{separator}{user}{at}{rest}"
    return SECRET.sub(r"\1***", text)


def blanked(text: str) -> str:
    """As `masked`, and without the value of any option: for an address of which not even those are known."""
    return printable(VALUE.sub("=***", _masked(text)))


def parse_url(text: str) -> Url:
    """The parts of an address. `ValueError` says which of them is wrong, and never shows a password."""
    check_text(text, "an engine URL", MOST_CHARACTERS)
    scheme, separator, rest = text.partition("://")
    if not separator or not SCHEME.fullmatch(scheme):
        raise ValueError(
            f"'{blanked(text)}' is not an engine URL: write scheme://…, such as sqlite:///var/lib/shop/locks.db"
        )
    rest, _, query = rest.partition("?")
    authority, slash, path = rest.partition("/")
    credentials, at, addresses = authority.rpartition("@")
    username, colon, password = credentials.partition(":")
    return Url(
        scheme=scheme.lower(),
        hosts=tuple(_host(address, text) for address in addresses.split(",") if address),
        path=_decoded(slash + path, text),
        username=_decoded(username, text) if at and username else None,
        password=_decoded(password, text) if colon else None,
        options=_options(query, text),
    )


def _options(query: str, text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for pair in query.split("&"):
        if pair:
            key, _, value = pair.partition("=")
            key = _decoded(key, text, unquote_plus)
            if key in found:
                raise ValueError(f"an option is given twice in '{blanked(text)}': leave one out")
            found[key] = _decoded(value, text, unquote_plus)
    return found


def _decoded(part: str, text: str, decode: Callable[..., str] = unquote) -> str:
    try:
        decoded = decode(part, errors="strict")
    except UnicodeDecodeError:
        raise ValueError(f"what is percent-encoded in '{blanked(text)}' is not UTF-8") from None
    if "\0" in decoded:
        raise ValueError(f"'{blanked(text)}' contains a NUL character: remove it")
    return decoded


def _host(address: str, text: str) -> tuple[str, int | None]:
    host, colon, port = address.rpartition(":")
    if not colon or address.endswith("]"):
        return _checked(address, text), None
    if not (port.isascii() and port.isdecimal() and len(port) <= 5 and 0 < int(port) <= MOST_PORT):
        # Behind a stray slash or question mark in a password, its first part looks like a port.
        which = "the port" if "@" in text.partition(port)[2] else f"port '{printable(port[:MOST_SHOWN])}'"
        raise ValueError(f"{which} in '{blanked(text)}' is not a number between 1 and {MOST_PORT}")
    return _checked(host, text), int(port)


def _checked(host: str, text: str) -> str:
    """The host without its brackets."""
    if host.startswith("[") and host.endswith("]"):
        if not IPV6.fullmatch(host, 1, len(host) - 1):
            raise ValueError(f"what stands in brackets in '{blanked(text)}' is not an IPv6 address")
        return host[1:-1]
    if not host or not host.isprintable() or NO_HOST.search(host):
        raise ValueError(
            f"a host in '{blanked(text)}' is not the name or address of one: write host:port, or [::1]:port for IPv6"
        )
    return host
