"""Servers that end what takes long: to wait for a lock, and to hold one, may take long."""

from collections.abc import Iterator

import pytest

import fencepost
from fencepost import Refused, Unavailable
from fencepost.core.url import parse_url
from fencepost.engines.postgresql._sync.store import Store
from fencepost.engines.postgresql.address import locate
from fencepost.engines.postgresql.advisory._sync.engine import AdvisoryEngine
from fencepost.engines.postgresql.query import Query, value
from fencepost.engines.postgresql.trouble import not_let_in
from fencepost.testing.postgresql import query
from tests.support.engine import engine_as

from .conftest import at

# The last one is of PostgreSQL 17; where it is missing, another stands in for it.
LIMITS = ("statement_timeout", "lock_timeout", "stand_in.transaction_timeout")
SIT = "SELECT pg_get_functiondef('fencepost.sit'::regproc)"


@pytest.fixture
def hurried(port: int) -> Iterator[int]:
    """A server that by default gives everything a minute."""
    for limit in LIMITS:
        query(port, f"ALTER DATABASE postgres SET {limit} = '60000'")
    yield port
    for limit in LIMITS:
        query(port, f"ALTER DATABASE postgres RESET {limit}")


def test_no_limit_of_the_server_ends_whoever_waits_on_its_own_connection(hurried: int) -> None:
    url = at(hurried, "postgresql+advisory")
    with fencepost.connect(url, ttl=60) as first:
        first.lock("a").acquire()
    ((sit,),) = query(hurried, SIT)
    query(hurried, sit.replace("transaction_timeout", "stand_in.transaction_timeout"))
    with fencepost.connect(url, ttl=60) as session:
        grant = session.lock("b").acquire()
        connection = engine_as(session, AdvisoryEngine)._leases[grant.holder.id].main.connection
        for limit in LIMITS:
            assert value(connection.call(Query(limit, f"SELECT current_setting('{limit}')"))) == b"0", limit


@pytest.mark.parametrize("state", ["25P03", "25P04", "57P05"])
def test_a_session_that_the_server_ends_for_taking_long_may_be_tried_again(port: int, state: str) -> None:
    store = Store(parse_url(at(port)), 60.0)
    ended = Query("ended", f"DO $$ BEGIN RAISE EXCEPTION 'took long' USING ERRCODE = '{state}'; END $$")
    with pytest.raises(Unavailable, match="took long"):
        store.call(ended)
    store.close()


@pytest.mark.unit
@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("terminating connection due to administrator command", Unavailable),
        ("canceling authentication due to timeout", Unavailable),
        ("client_login_timeout (server down)", Unavailable),
        ('password authentication failed for user "app"', Refused),
    ],
)
def test_whoever_comes_while_the_server_ends_its_sessions_may_come_again(words: str, kind: type[Exception]) -> None:
    assert type(not_let_in(f"FATAL:  {words}", locate(parse_url(at(1))))) is kind
