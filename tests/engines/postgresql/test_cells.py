"""What elections, groups and rate limits stand on, with leases in a table and where the connection is the lease."""

import threading

import fencepost
from fencepost.contract.answer import Cell
from fencepost.engines.postgresql._sync.engine import PostgresqlEngine
from fencepost.engines.postgresql.advisory._sync.engine import AdvisoryEngine
from fencepost.engines.postgresql.query import Query
from fencepost.testing.condition import until
from fencepost.testing.postgresql import query
from tests.support.engine import cells_of
from tests.support.renewal import renew

from .conftest import at

OF_HOLDERS = "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 1"
SETTING = Query("setting", "SELECT current_setting($1)")


def test_a_connection_ended_by_hand_ends_leaders_and_members_at_once(port: int) -> None:
    url = at(port, "postgresql+advisory")
    # A lease would go on for minutes, and the next renewal is not near either.
    with fencepost.connect(url, ttl=600) as first, fencepost.connect(url, ttl=600, holder="second") as second:
        old = first.election("e").campaign("one")
        membership = first.group("g").join("one")
        leader = second.election("e").leader()
        assert leader is not None
        assert leader.term == old.token
        assert [member.data for member in second.group("g").members()] == ["one"]
        query(port, f"SELECT pg_terminate_backend(pid, 60000) FROM ({OF_HOLDERS}) AS holder")
        assert old.lost.wait(60)
        assert membership.lost.wait(60)
        assert second.election("e").leader() is None
        assert second.group("g").members() == ()
        assert second.election("e").campaign("two", timeout=60).token > old.token


def test_a_leader_is_known_by_its_term_however_many_tokens_were_given_out_since(port: int) -> None:
    url = at(port, "postgresql+advisory")
    with fencepost.connect(url, ttl=60) as first, fencepost.connect(url, ttl=60) as second:
        term = first.election("e").campaign("one").token
        # Others see the name from its first renewal on.
        renew(first)
        assert list(second.names("e")) == ["e"]
        # The server's list of locks has room for 31 bits of it.
        query(port, "SELECT setval('fencepost.token', nextval('fencepost.token') + 6442450944)")
        leader = second.election("e").leader()
        assert leader is not None
        assert leader.term == term
        assert [claim.token for claim in second.evict("e")] == [term]


def engine_of(session: fencepost.Session) -> PostgresqlEngine | AdvisoryEngine:
    engine = session.engine
    assert isinstance(engine, PostgresqlEngine | AdvisoryEngine)
    return engine


def test_whoever_watches_first_of_all_is_woken_by_push(url: str) -> None:
    with fencepost.connect(url, ttl=600) as watcher, fencepost.connect(url, ttl=600) as writer:
        seen: list[Cell] = []
        # Nothing was said before on any connection.
        thread = threading.Thread(target=lambda: seen.append(cells_of(watcher).watch("a", 0, 300)))
        thread.start()
        until(lambda: engine_of(watcher)._channel.ear.is_open)
        assert not engine_of(watcher)._channel.ear.is_deaf
        written = cells_of(writer).write("a", "one", 0)
        thread.join(60)
        assert seen == [written]


def test_a_prefix_keeps_cells_and_rates_apart(port: int) -> None:
    url, apart = (at(port, "postgresql+advisory", options) for options in ("", "?prefix=other/"))
    with fencepost.connect(url, ttl=60) as session, fencepost.connect(apart, ttl=60) as other:
        session.latch("a", 2).count_down()
        assert other.latch("a", 2).remaining() == 2
        assert session.rate_limit("r", 1, 60.0).try_acquire() == 0.0
        assert session.rate_limit("r", 1, 60.0).try_acquire() > 0.0
        assert other.rate_limit("r", 1, 60.0).try_acquire() == 0.0


def test_both_engines_count_one_latch_and_one_rate(port: int) -> None:
    with (
        fencepost.connect(at(port), ttl=60) as table,
        fencepost.connect(at(port, "postgresql+advisory"), ttl=60) as advisory,
    ):
        table.latch("a", 2).count_down()
        assert advisory.latch("a", 2).count_down() == 0
        assert table.rate_limit("r", 1, 60.0).try_acquire() == 0.0
        assert advisory.rate_limit("r", 1, 60.0).try_acquire() > 0.0


def test_statements_on_cells_are_planned_for_tables_that_look_empty(url: str, port: int) -> None:
    with fencepost.connect(url, ttl=60) as session:
        cells_of(session).read("a")
        found = engine_of(session)._store.value(SETTING, b"enable_seqscan")
        assert found == b"off"
