"""Roles that are not trusted: what they leave in the database is not run with the rights of others."""

from collections.abc import Iterator

import psycopg
import pytest

import fencepost
from fencepost import Refused
from fencepost.testing.condition import until
from fencepost.testing.contract.postgresql import END_ALL
from fencepost.testing.postgresql import connect, query, shared_pgbouncer

from .conftest import at

TROJAN = """CREATE FUNCTION fencepost.rise() RETURNS integer LANGUAGE plpgsql {volatility} AS $$
BEGIN
    IF (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) THEN
        ALTER ROLE app SUPERUSER;
    END IF;
    RETURN 5;
END $$"""
IS_SUPER = "SELECT rolsuper FROM pg_roles WHERE rolname = 'app'"


@pytest.fixture
def app(port: int) -> Iterator[int]:
    """The port of a server where the role `app` may make the schema."""
    query(port, "DROP ROLE IF EXISTS app")
    query(port, "CREATE ROLE app LOGIN")
    query(port, "GRANT CREATE ON DATABASE postgres TO app")
    yield port
    query(port, END_ALL)
    query(port, "DROP OWNED BY app CASCADE")
    query(port, "DROP ROLE app")


def _lock(url: str) -> None:
    with fencepost.connect(url, ttl=60) as session:
        session.lock("a").acquire(timeout=60).release()


@pytest.mark.parametrize("volatility", ["VOLATILE", "IMMUTABLE"])
def test_functions_of_a_lesser_role_are_not_run(app: int, scheme: str, volatility: str) -> None:
    _lock(at(app, scheme, user="app"))
    with connect(app, user="app") as theirs:
        # What is asked first of all. An immutable function would be run even if its value is not wanted.
        theirs.execute(TROJAN.format(volatility=volatility).encode())
        theirs.execute("DROP TABLE fencepost.version")
        theirs.execute("CREATE VIEW fencepost.version AS SELECT fencepost.rise() AS version")
    with pytest.raises(Refused, match=r"schema 'fencepost' .* belongs to app, .* add owner=app to the URL"):
        _lock(at(app, scheme))
    assert query(app, IS_SUPER) == [(False,)]


async def test_functions_of_a_lesser_role_are_not_run_asynchronously(app: int, scheme: str) -> None:
    _lock(at(app, scheme, user="app"))
    with pytest.raises(Refused, match="belongs to app"):
        await fencepost.connect_async(at(app, scheme)).lock("a").acquire()


def test_nothing_is_made_in_a_schema_of_a_lesser_role(app: int, scheme: str) -> None:
    with connect(app, user="app") as theirs:
        theirs.execute("CREATE SCHEMA fencepost")
    with pytest.raises(Refused, match="belongs to app"):
        _lock(at(app, scheme))
    assert query(app, "SELECT relname FROM pg_class WHERE relnamespace = 'fencepost'::regnamespace") == []


def test_a_role_that_is_named_is_trusted(app: int, scheme: str) -> None:
    _lock(at(app, scheme, user="app"))
    _lock(at(app, scheme, "?owner=app"))


@pytest.fixture
def trap(port: int) -> Iterator[int]:
    """A function that suits our calls better than the one of the server that is meant."""
    body = "RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'trapped'; END $$"
    query(port, f"CREATE FUNCTION public.hashtextextended(text, integer) {body}")
    yield port
    query(port, "DROP FUNCTION public.hashtextextended(text, integer)")


def test_a_function_of_the_servers_is_not_mistaken_for_one_that_somebody_left(trap: int, scheme: str) -> None:
    with fencepost.connect(at(trap, scheme), ttl=60) as session:
        held = session.lock("a").acquire(timeout=60)
        assert session.look("a").holders[0].claim.token == held.token
        held.release()


def test_behind_a_pooler_neither(trap: int) -> None:
    pooler = shared_pgbouncer().port

    def answers() -> bool:
        try:
            return query(pooler, "SELECT 1") == [(1,)]
        except psycopg.OperationalError:
            return False

    until(answers)
    with fencepost.connect(at(pooler), ttl=60) as session:
        held = session.lock("a").acquire(timeout=60)
        assert session.look("a").holders[0].claim.token == held.token
        assert list(session.names()) == ["a"]
        held.release()
