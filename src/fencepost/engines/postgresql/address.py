"""Where a PostgreSQL server is and who we are to it: from our URL to libpq's words."""

import math
import re
from dataclasses import dataclass, field, replace
from urllib.parse import unquote

from psycopg.conninfo import make_conninfo

from fencepost.core.url import Url, number_in, parse_url

PORT = 5432
# What libpq understands by itself, passed on as it is.
LIBPQ = (
    "channel_binding",
    "connect_timeout",
    "gssencmode",
    "host",
    "keepalives",
    "keepalives_count",
    "keepalives_idle",
    "keepalives_interval",
    "load_balance_hosts",
    "options",
    "passfile",
    "require_auth",
    "service",
    "sslcert",
    "sslcrl",
    "sslkey",
    "sslmode",
    "sslrootcert",
    "target_session_attrs",
    "tcp_user_timeout",
)
OURS = ("schema", "listen", "owner")
# In seconds, where the URL does not say otherwise. Whoever waits for a lock neither sends nor hears anything for as
# long as it takes: that the server is gone, or the way to it, is noticed by the kernel alone, and that after two hours.
WATCHFUL = {"keepalives_idle": "10", "keepalives_interval": "3", "keepalives_count": "3"}
# What libpq takes.
MOST_TIMEOUT = 2**31 - 1
NAME = re.compile("[A-Za-z_][A-Za-z0-9_]{0,62}")


@dataclass(frozen=True, slots=True)
class Address:
    """`conninfo` is for libpq and holds the password; `text` is for people and does not.

    `hosts` are tried in turn, for `most` seconds each. Without one, libpq looks for it elsewhere (`service=`, $PGHOST).
    """

    conninfo: str
    text: str
    hosts: tuple[tuple[str, int | None], ...] = ()
    most: float = math.inf
    shuffled: bool = False
    # Those of our last attempts that did not answer: they are tried last.
    silent: set[str] = field(default_factory=set, compare=False)

    def __repr__(self) -> str:
        return self.text

    def __str__(self) -> str:
        return self.text


def locate(url: Url) -> Address:
    """The server of the URL. Several hosts are tried in turn, and only one that takes writes is used."""
    words: dict[str, str] = {}
    hosts: tuple[tuple[str, int | None], ...] = tuple((host, port or PORT) for host, port in url.hosts)
    if "host" in url.options:
        port = hosts[0][1] if hosts else None
        hosts = tuple((host, port) for host in url.options["host"].split(","))
    if len(hosts) > 1:
        words["target_session_attrs"] = "read-write"
    if url.path.strip("/"):
        words["dbname"] = url.path.strip("/")
    if url.username is not None:
        words["user"] = url.username
    if url.password is not None:
        words["password"] = url.password
    words |= {option: value for option, value in url.options.items() if option in LIBPQ and option != "host"}
    words = {**WATCHFUL, **words}
    words.setdefault("application_name", "fencepost")
    words["client_encoding"] = "UTF8"
    shown = replace(url, options={key: value for key, value in url.options.items() if key not in OURS})
    shuffled = url.options.get("load_balance_hosts") == "random"
    return Address(make_conninfo("", **words), str(shown), hosts, _most(url), shuffled)


def _most(url: Url) -> float:
    """libpq leaves it to those who connect step by step, as we do, to count the seconds."""
    seconds = number_in(url.options.get("connect_timeout", "0"), MOST_TIMEOUT)
    if seconds is None:
        raise ValueError(f"option 'connect_timeout' in {url} must be a whole number of seconds")
    return seconds or math.inf


def listening_at(url: Url) -> Address | None:
    """Where to listen, if that is not where everything else goes: past a pooler that LISTEN can not pass."""
    text = url.options.get("listen")
    if text is None:
        return None
    direct = parse_url(unquote(text) if "://" not in text else text)
    if direct.scheme not in ("postgresql", "postgres"):
        raise ValueError(f"option 'listen' in {url} is not a postgresql:// URL")
    direct.check_options(*LIBPQ)
    return locate(direct)


def schema_of(url: Url) -> str:
    schema = url.options.get("schema", "fencepost")
    if not NAME.fullmatch(schema):
        raise ValueError(f"option 'schema' in {url} must be 1 to 63 letters, digits and underscores")
    return schema
