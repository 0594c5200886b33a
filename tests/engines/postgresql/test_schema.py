"""The schema: made once, by whoever comes first; refused if it is newer than we are, or may not be made."""

import multiprocessing
import random
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

import fencepost
from fencepost import Refused
from fencepost.engines.postgresql.sql import VERSION
from fencepost.testing.postgresql import connect, query
from tests.support.engine import cells_of
from tests.support.renewal import renew

from .conftest import at


def _lock(url: str) -> int:
    with fencepost.connect(url, ttl=60) as session, session.lock("a") as grant:
        return grant.token


def test_eight_sessions_that_come_first_make_it_once(port: int) -> None:
    with ThreadPoolExecutor(8) as pool:
        tokens = list(pool.map(_lock, [at(port)] * 8))
    assert len(set(tokens)) == 8
    assert query(port, "SELECT version FROM fencepost.version") == [(VERSION,)]


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_eight_processes_that_come_first_make_it_once(port: int) -> None:
    with multiprocessing.get_context("spawn").Pool(8) as pool:
        tokens = pool.map(_lock, [at(port)] * 8, chunksize=1)
    assert len(set(tokens)) == 8
    assert query(port, "SELECT version FROM fencepost.version") == [(VERSION,)]


def test_a_newer_schema_is_refused_with_what_to_do(url: str, port: int) -> None:
    _lock(url)
    newer = VERSION + 1
    query(port, f"UPDATE fencepost.version SET version = {newer}")
    with pytest.raises(Refused, match=f"has version {newer}, and this fencepost knows {VERSION}: upgrade"):
        _lock(url)


def test_a_user_who_may_not_make_it_is_told_so(port: int, scheme: str) -> None:
    query(port, "DROP ROLE IF EXISTS reader")
    query(port, "CREATE ROLE reader LOGIN")
    with pytest.raises(Refused, match=r"permission denied.*42501.*docs/engines/postgresql.md"):
        _lock(at(port, scheme, user="reader"))


def test_a_user_who_may_only_read_is_told_so(port: int, scheme: str) -> None:
    _lock(at(port, scheme))
    query(port, "DROP ROLE IF EXISTS onlooker")
    query(port, "CREATE ROLE onlooker LOGIN")
    query(port, "GRANT USAGE ON SCHEMA fencepost TO onlooker")
    query(port, "GRANT SELECT ON ALL TABLES IN SCHEMA fencepost TO onlooker")
    try:
        with pytest.raises(Refused, match=r"permission denied"):
            _lock(at(port, scheme, user="onlooker"))
    finally:
        query(port, "DROP OWNED BY onlooker")


def test_a_user_with_the_documented_rights_may_do_everything(port: int, scheme: str) -> None:
    _lock(at(port, scheme))
    query(port, "DROP ROLE IF EXISTS locker")
    query(port, "CREATE ROLE locker LOGIN")
    # As docs/engines/postgresql.md has them.
    for right in (
        "GRANT USAGE ON SCHEMA fencepost TO locker",
        "GRANT SELECT ON ALL TABLES IN SCHEMA fencepost TO locker",
        "GRANT INSERT, UPDATE, DELETE ON fencepost.lease, fencepost.claim, fencepost.eviction, fencepost.connection,"
        " fencepost.holding, fencepost.cell, fencepost.watcher, fencepost.meter TO locker",
        "GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA fencepost TO locker",
    ):
        query(port, right)
    try:
        url = at(port, scheme, user="locker")
        with fencepost.connect(url, ttl=60) as first, fencepost.connect(url, ttl=60) as second:
            held = first.lock("a").acquire()
            assert second.lock("a").try_acquire() is None
            assert second.look("a").holders[0].claim.token == held.token
            assert len(second.evict("a")) == 1
            second.lock("a").acquire(timeout=60).release()
            renew(first)
            assert held.lost.wait(60)
            assert second.rate_limit("a", 1, per=1.0).try_acquire() == 0
        with connect(port, user="locker") as plain, pytest.raises(psycopg.errors.InsufficientPrivilege):
            plain.execute("SELECT setval('fencepost.token', 1)")
        query(port, "TRUNCATE fencepost.life")
        assert _lock(url) >= held.token + 2**32
    finally:
        query(port, "DROP OWNED BY locker")


def test_an_unknown_database_is_refused(port: int, scheme: str) -> None:
    with pytest.raises(Refused, match="does not exist"):
        _lock(at(port, scheme, database="nowhere"))


def test_schemas_do_not_share_locks(port: int) -> None:
    with (
        fencepost.connect(at(port)) as first,
        fencepost.connect(at(port, options="?schema=other")) as second,
    ):
        first.lock("a").acquire()
        assert second.lock("a").try_acquire() is not None
    query(port, "DROP SCHEMA other CASCADE")


def test_long_names_that_differ_in_their_last_letter_are_different_locks(url: str) -> None:
    # Letters that no compression makes short: longer than an entry of an index may be.
    dice = random.Random(7)
    stem = "".join(chr(dice.randrange(0x4E00, 0x9FFF)) for _ in range(1023))
    with fencepost.connect(url) as session:
        held = session.lock(stem + "一").acquire(timeout=0)
        other = session.lock(stem + "二").acquire(timeout=0)
        assert session.lock(stem + "一").try_acquire() is None
        assert session.names() == sorted([held.name, other.name])


def test_what_the_dead_leave_behind_is_swept_up(port: int) -> None:
    with fencepost.connect(at(port)) as session:
        for number in range(20):
            session.lock(f"left {number}").acquire()
        # As it looks two minutes after its process was killed.
        query(port, "UPDATE fencepost.lease SET expires_at = clock_timestamp() - interval '2 minutes'")
        with fencepost.connect(at(port)):
            assert query(port, "SELECT count(*) FROM fencepost.claim") == [(0,)]
            assert query(port, "SELECT count(*) FROM fencepost.lease") == [(1,)]


def test_any_number_of_names_acquired_and_released_leaves_no_row(port: int) -> None:
    with fencepost.connect(at(port), ttl=60) as session:
        for number in range(50):
            session.lock(f"name {number}").acquire().release()
        assert query(port, "SELECT count(*) FROM fencepost.claim") == [(0,)]


def test_evictions_are_remembered_up_to_a_thousand(port: int) -> None:
    with fencepost.connect(at(port)) as session:
        session.lock("a").acquire()
        session.evict("a")
        query(
            port,
            "INSERT INTO fencepost.eviction (name, token, holder, evicted, by, at)"
            " SELECT 'a', n, '', '', '', clock_timestamp() FROM generate_series(1, 1100) AS n",
        )
        session.lock("a").acquire(timeout=0)
        session.evict("a")
        assert query(port, "SELECT count(*) FROM fencepost.eviction") == [(1000,)]


@pytest.mark.unit
@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("postgresql://a/b?schema=x%3By", "letters, digits and underscores"),
        ("postgresql://a/b?colour=red", "unknown option 'colour'"),
        ("postgresql://a/b?listen=redis://a", "is not a postgresql:// URL"),
        ("postgresql+advisory://a/b?listen=postgresql://a", "unknown option 'listen'"),
    ],
)
def test_a_url_that_can_not_be_meant_is_refused_at_once(url: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fencepost.connect(url)


def test_schemas_do_not_share_latches(port: int) -> None:
    """Whoever is at a name in one of them is in the way of nobody in another."""
    with fencepost.connect(at(port, options="?schema=other")) as theirs:
        theirs.lock("a").acquire(timeout=60).release()
    with fencepost.connect(at(port), ttl=60) as session, connect(port) as busy:
        session.lock("warm").acquire(timeout=60).release()
        with busy.transaction():
            busy.execute("SELECT other.latch(ARRAY['a'])")
            busy.execute("SELECT other.cell_write('a', 'b', 0)")
            busy.execute("SELECT other.meter_take('a', 1, 1, 1)")
            session.lock("a").acquire(timeout=5).release()
            assert session.rate_limit("a", 1, per=1.0).try_acquire() == 0
            assert cells_of(session).write("a", "c", 0) is not None
    query(port, "DROP SCHEMA other CASCADE")
