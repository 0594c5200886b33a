# Generated from src/fencepost/testing/contract/_async/cell.py by tools/unasync.py. Do not edit: run `make gen`.
"""Cells: small values that change one step at a time, and whoever watches is told."""

import pytest

from fencepost.core.claim import Ask
from fencepost.errors import Unsupported
from fencepost.session._sync.record import Record, Document
from fencepost.testing.contract._sync.attempt import Attempt
from fencepost.testing.contract._sync.place import LASTING, connect_brisk, connect_faulty, connect_to
from fencepost.testing.contract.need import needs
from fencepost.testing.contract.site import Site

WRITERS, STEPS = 4, 10


class CellChapter:
    def test_an_engine_without_cells_says_so_when_one_is_made(self, site: Site) -> None:
        with connect_to(site) as session:
            if site.traits.cells:
                assert (Record(session, "a").read()).document == {}
            else:
                with pytest.raises(Unsupported, match="keeps no shared values"):
                    Record(session, "a")

    @needs("cells")
    def test_a_cell_changes_only_from_the_version_that_was_seen(self, site: Site) -> None:
        session, engine = connect_faulty(site, ttl=LASTING)
        with session:
            assert tuple(engine.cells.read("a")) == (None, 0)
            first = engine.cells.write("a", "one", 0)
            assert first is not None
            assert engine.cells.write("a", "late", 0) is None
            second = engine.cells.write("a", "two", first.version)
            assert second is not None
            assert second.version > first.version > 0
            assert engine.cells.read("a") == second
            assert engine.cells.write("a", "late", first.version) is None

    @needs("cells")
    def test_a_cell_that_was_emptied_goes_on_with_higher_versions(self, site: Site) -> None:
        session, engine = connect_faulty(site, ttl=LASTING)
        with session:
            first = engine.cells.write("a", "one", 0)
            assert first is not None
            assert engine.cells.write("a", None, first.version) is not None
            assert engine.cells.write("a", "late", first.version) is None
            assert tuple(engine.cells.read("a")) == (None, 0)
            second = engine.cells.write("a", "two", 0)
            assert second is not None
            assert second.version > first.version

    @needs("cells")
    def test_cells_and_locks_of_one_name_do_not_meet(self, site: Site) -> None:
        session, engine = connect_faulty(site, ttl=LASTING)
        with session:
            engine.cells.write("a", "text with ünicode, \n and \0", 0)
            with session.lock("a", timeout=0):
                assert (engine.cells.read("a")).value == "text with ünicode, \n and \0"
            assert session.names() == []
            assert Ask("a").name == "a"

    @needs("cells")
    def test_no_change_is_lost_however_many_change_it_at_once(self, site: Site) -> None:
        sessions = [connect_to(site, label=f"writer {number}") for number in range(WRITERS)]

        def increment(document: Document) -> Document:
            return {"count": document.get("count", 0) + 1}

        def work(record: Record) -> Attempt[None]:
            def count() -> None:
                for _ in range(STEPS):
                    record.change(increment)

            return Attempt(count)

        attempts = [work(Record(session, "a")) for session in sessions]
        for attempt in attempts:
            attempt.outcome(60)
        assert (Record(sessions[0], "a").read()).document["count"] == WRITERS * STEPS
        for session in sessions:
            session.close()

    @needs("cells")
    def test_a_change_whose_answer_is_lost_happens_once(self, site: Site) -> None:
        session, engine = connect_brisk(site)
        with session:
            record = Record(session, "a")
            engine.lose_reply("cell_write")
            document = record.change(lambda document: {"count": document.get("count", 0) + 1})
            assert document["count"] == 1
            assert (record.read()).document["count"] == 1

    @needs("cells")
    def test_whoever_watches_is_told_of_the_change(self, site: Site) -> None:
        session, engine = connect_faulty(site, ttl=LASTING)
        with session, connect_to(site, label="second") as second:
            Record(second, "a").change(lambda _: {"number": 1})
            seen = Record(session, "a").read()
            attempt = Attempt(lambda: Record(session, "a").next(seen.version, 60))
            engine.called("cell_watch")
            Record(second, "a").change(lambda _: {"number": 2})
            assert (attempt.outcome()).document["number"] == 2

    @needs("cells")
    def test_a_watch_that_ends_leaves_others_theirs(self, site: Site) -> None:
        session, engine = connect_faulty(site, ttl=LASTING)
        with session, connect_to(site, label="second") as second:
            Record(second, "a").change(lambda _: {"number": 1})
            seen = Record(session, "a").read()
            attempt = Attempt(lambda: Record(session, "a").next(seen.version, LASTING))
            engine.called("cell_watch")
            for watcher in (session, second):
                assert Record(watcher, "a").next(seen.version, 0.05) == seen
            Record(second, "a").change(lambda _: {"number": 2})
            assert (attempt.outcome()).document["number"] == 2

    @needs("cells")
    def test_a_watch_without_news_ends_in_time_with_what_there_is(self, site: Site) -> None:
        with connect_to(site) as session:
            record = Record(session, "a")
            record.change(lambda _: {"number": 1})
            seen = record.read()
            assert record.next(seen.version, 0.05) == seen
            # A change that was missed is told at once.
            assert record.next(0, 60) == seen
