"""Connecting, as steps: what to wait for next, until libpq is connected.

libpq would try several hosts by itself, and never leave one that is silent: to count the seconds is left to those who
connect step by step. So each host, and each address that its name stands for, is tried for its share of the time.
"""

import random
from collections.abc import Generator
from errno import ETIMEDOUT
from time import monotonic

from psycopg import pq
from psycopg.conninfo import make_conninfo

from fencepost._runtime.lookup import look_up, numeric
from fencepost._runtime.readiness import READ, WRITE
from fencepost.engines.postgresql.address import PORT, Address
from fencepost.engines.postgresql.trouble import late, not_let_in
from fencepost.engines.postgresql.wire.size import LARGEST_GREETING, received

# A descriptor, READ or WRITE to wait for on it, and for how many seconds. Sent back is whether it came.
Step = tuple[int, int, float]
# What comes of one attempt: a connection, or why there is none.
Attempt = Generator[Step, bool, pq.abc.PGconn | str]


def dial(address: Address, patience: float) -> Generator[Step, bool, pq.abc.PGconn]:
    until = monotonic() + patience
    routes, told = yield from _routes(address, until)
    all_silent = not told
    for number, (where, conninfo) in enumerate(routes):
        now = monotonic()
        share = min(address.most, (until - now) / (len(routes) - number))
        found = yield from _try(conninfo, now + share)
        if found == "":
            address.silent.add(where)
            told.append(f"{where} did not answer within {share:.3g} s")
            continue
        address.silent.discard(where)
        if not isinstance(found, str):
            return found
        all_silent = False
        told.append(found)
    raise (
        late(address, min(patience, address.most * len(routes))) if all_silent else not_let_in(" ".join(told), address)
    )


def _routes(address: Address, until: float) -> Generator[Step, bool, tuple[list[tuple[str, str]], list[str]]]:
    """Where to try, as text and as libpq's words, those that were silent last; and what is wrong with the others."""
    if not address.hosts:
        return [("it", address.conninfo)], []
    found: list[tuple[str, str]] = []
    wrong: list[str] = []
    for number, (host, port) in enumerate(address.hosts):
        # As much again is for its addresses.
        share = (until - monotonic()) / (len(address.hosts) - number) / 2
        try:
            # A path is a Unix socket.
            addresses = [""] if host.startswith(("/", "@")) else (yield from _resolve(host, port or PORT, share))
        except (OSError, UnicodeError) as error:
            why = getattr(error, "strerror", None) or error
            wrong.append(f"could not translate host name '{host}' to address: {why}")
            continue
        for each in addresses:
            words = {"host": host, "hostaddr": each or None, "port": port}
            found.append((f"{each or host} port {port or PORT}", make_conninfo(address.conninfo, **words)))
    if address.shuffled:
        random.shuffle(found)
    return sorted(found, key=lambda route: route[0] in address.silent), wrong


def _resolve(host: str, port: int, seconds: float) -> Generator[Step, bool, list[str]]:
    found = numeric(host, port)
    if not found:
        lookup = look_up(host, port)
        with lookup.bell() as bell:
            if not (yield bell.fileno(), READ, max(0.0, seconds)):
                raise TimeoutError(ETIMEDOUT, f"no answer within {seconds:.3g} s")
        found = lookup.found()
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


def _try(conninfo: str, until: float) -> Attempt:
    """A connection; or what libpq said, or nothing if nobody answered in time."""
    connection: pq.abc.PGconn = pq.PGconn.connect_start(conninfo.encode())
    state, event = int(pq.PollingStatus.WRITING), WRITE
    try:
        while connection.status != pq.ConnStatus.BAD and state != pq.PollingStatus.FAILED:
            if not (yield connection.socket, event, max(0.0, until - monotonic())):
                connection.finish()
                return ""
            state = connection.connect_poll()
            if state == pq.PollingStatus.OK:
                return connection
            if connection.status != pq.ConnStatus.BAD and received(connection.socket) > LARGEST_GREETING:
                connection.finish()
                return "it says too much before it lets anybody in"
            event = READ if state == pq.PollingStatus.READING else WRITE
        told = connection.get_error_message()
        connection.finish()
        return told or "no answer"
    except BaseException:
        connection.finish()
        raise
