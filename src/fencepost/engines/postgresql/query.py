"""A statement, and what comes back."""

import math

from psycopg import pq

from fencepost.core.malformed import decoder
from fencepost.engines.postgresql.trouble import ServerError

Parameter = bytes | None
Rows = list[tuple[bytes | None, ...]]


# A planner that finds our tables empty, as they often are, would read them from end to end ever after: past all that
# was given back and is not vacuumed yet. And it would plan each statement anew the first five times on each connection,
# which takes longer than all else.
ADVICE = {"enable_seqscan": "off", "enable_bitmapscan": "off", "jit": "off", "plan_cache_mode": "force_generic_plan"}
ADVISE = "; ".join(f"SET {setting} = {value}" for setting, value in ADVICE.items())
# A function that somebody left elsewhere under the name of one of the server's is not meant. Connections of our own are
# set to that from the start.
_FOR_ONE = {**ADVICE, "search_path": "pg_catalog, pg_temp"}
_LOCALLY = ", ".join(f"pg_catalog.set_config('{setting}', '{value}', true)" for setting, value in _FOR_ONE.items())
# A backend that somebody else's lock stops does not see that whoever asked has left: it looks every 500 ms, where its
# system can, from the next statement on. Not if that is the backend of a pooler, which another asks next.
_HEED = """SELECT pg_catalog.set_config('client_connection_check_interval', '500', false)
WHERE pg_catalog.pg_backend_pid() = {pid} AND pg_catalog.strpos(pg_catalog.version(), 'linux') > 0;
"""
# What the server takes, in ms.
MOST_BOUND = 2**31 - 1
_BOUND = b"{bound}"


def bound(patience: float) -> int:
    """How many ms the server has for a statement: longer than we wait for it."""
    return min(MOST_BOUND, math.ceil((patience + 1) * 1000))


def limit(patience: float) -> str:
    """Statements that keep a connection to that, also where nobody sees that we have left."""
    return f"SET lock_timeout = {bound(patience)}; SET statement_timeout = {bound(patience)}"


class Query:
    """One statement. It is prepared once on each connection under its name; behind a pooler, where no connection is
    ours for longer than a transaction, it brings along what it needs.
    """

    __slots__ = ("_alone", "name", "text")

    def __init__(self, name: str, text: str) -> None:
        self.name = name.encode()
        self.text = text.encode()
        calls_a_function = text.startswith("SELECT") and " FROM " not in text
        locally = f"{_LOCALLY}, pg_catalog.set_config('lock_timeout', '{_BOUND.decode()}', true)"
        self._alone = f"{text} FROM (SELECT {locally} OFFSET 0) AS advice".encode() if calls_a_function else self.text

    def alone(self, milliseconds: int) -> bytes:
        """For a connection that may be another's next. No wait for a lock takes longer than that."""
        return self._alone.replace(_BOUND, b"%d" % milliseconds)

    def first(self, pid: int) -> str:
        """For a new connection: the number of its backend is the only parameter. It heeds whether we are there."""
        return _HEED.format(pid=pid) + self.text.decode().replace("$1", str(pid))


def check(result: pq.abc.PGresult) -> pq.abc.PGresult:
    """The result itself, if it is none of an error."""
    if result.status not in (pq.ExecStatus.TUPLES_OK, pq.ExecStatus.COMMAND_OK):
        raise ServerError(result)
    return result


def value(result: pq.abc.PGresult) -> bytes | None:
    """The one value of the one row; None for NULL or no row."""
    return result.get_value(0, 0) if result.ntuples else None


def rows(result: pq.abc.PGresult) -> Rows:
    columns = range(result.nfields)
    return [tuple(result.get_value(row, column) for column in columns) for row in range(result.ntuples)]


@decoder
def texts(rows: Rows) -> list[str]:
    """Of rows of one column, those that can be read: a database of another encoding may have others."""
    # Not by the sign that stands for what can not be read: it is a character like any other.
    return [value.decode() for (value,) in rows if value is not None and _is_text(value)]


def _is_text(value: bytes) -> bool:
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True


@decoder
def whole(number: bytes | None) -> int:
    """A whole number as the server writes it; 0 for NULL."""
    return int(number or 0)


@decoder
def real(number: bytes | None) -> float:
    return float(number or 0)


@decoder
def wholes(numbers: bytes) -> tuple[int, ...]:
    """Whole numbers with commas between them."""
    return tuple(int(each) for each in numbers.split(b",") if each)


def words(value: bytes | None) -> str:
    """Text as the server writes it. A database of another encoding may have what is none."""
    return (value or b"").decode(errors="replace")


def text(words: str) -> bytes:
    """For labels and notes: what PostgreSQL can not store is replaced."""
    return words.replace("\0", "\ufffd").encode(errors="replace")


def array(words: list[str]) -> bytes:
    """A text[] as a literal."""
    quoted = (word.replace("\\", "\\\\").replace('"', '\\"') for word in words)
    return b"{%b}" % b",".join(b'"%b"' % text(word) for word in quoted)
