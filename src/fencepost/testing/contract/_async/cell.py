# Written by hand; the blocking twin under _sync is generated from it.
"""Cells: small values that change one step at a time, and whoever watches is told."""

import pytest

from fencepost.core.claim import Ask
from fencepost.errors import Unsupported
from fencepost.session._async.record import AsyncRecord, Document
from fencepost.testing.contract._async.attempt import AsyncAttempt
from fencepost.testing.contract._async.place import LASTING, connect_brisk, connect_faulty, connect_to
from fencepost.testing.contract.need import needs
from fencepost.testing.contract.site import Site

WRITERS, STEPS = 4, 10


class AsyncCellChapter:
    async def test_an_engine_without_cells_says_so_when_one_is_made(self, site: Site) -> None:
        async with connect_to(site) as session:
            if site.traits.cells:
                assert (await AsyncRecord(session, "a").read()).document == {}
            else:
                with pytest.raises(Unsupported, match="keeps no shared values"):
                    AsyncRecord(session, "a")

    @needs("cells")
    async def test_a_cell_changes_only_from_the_version_that_was_seen(self, site: Site) -> None:
        session, engine = connect_faulty(site, ttl=LASTING)
        async with session:
            assert tuple(await engine.cells.read("a")) == (None, 0)
            first = await engine.cells.write("a", "one", 0)
            assert first is not None
            assert await engine.cells.write("a", "late", 0) is None
            second = await engine.cells.write("a", "two", first.version)
            assert second is not None
            assert second.version > first.version > 0
            assert await engine.cells.read("a") == second
            assert await engine.cells.write("a", "late", first.version) is None

    @needs("cells")
    async def test_a_cell_that_was_emptied_goes_on_with_higher_versions(self, site: Site) -> None:
        session, engine = connect_faulty(site, ttl=LASTING)
        async with session:
            first = await engine.cells.write("a", "one", 0)
            assert first is not None
            assert await engine.cells.write("a", None, first.version) is not None
            assert await engine.cells.write("a", "late", first.version) is None
            assert tuple(await engine.cells.read("a")) == (None, 0)
            second = await engine.cells.write("a", "two", 0)
            assert second is not None
            assert second.version > first.version

    @needs("cells")
    async def test_cells_and_locks_of_one_name_do_not_meet(self, site: Site) -> None:
        session, engine = connect_faulty(site, ttl=LASTING)
        async with session:
            await engine.cells.write("a", "text with ünicode, \n and \0", 0)
            async with session.lock("a", timeout=0):
                assert (await engine.cells.read("a")).value == "text with ünicode, \n and \0"
            assert await session.names() == []
            assert Ask("a").name == "a"

    @needs("cells")
    async def test_no_change_is_lost_however_many_change_it_at_once(self, site: Site) -> None:
        sessions = [connect_to(site, label=f"writer {number}") for number in range(WRITERS)]

        def increment(document: Document) -> Document:
            return {"count": document.get("count", 0) + 1}

        def work(record: AsyncRecord) -> AsyncAttempt[None]:
            async def count() -> None:
                for _ in range(STEPS):
                    await record.change(increment)

            return AsyncAttempt(count)

        attempts = [work(AsyncRecord(session, "a")) for session in sessions]
        for attempt in attempts:
            await attempt.outcome(60)
        assert (await AsyncRecord(sessions[0], "a").read()).document["count"] == WRITERS * STEPS
        for session in sessions:
            await session.close()

    @needs("cells")
    async def test_a_change_whose_answer_is_lost_happens_once(self, site: Site) -> None:
        session, engine = connect_brisk(site)
        async with session:
            record = AsyncRecord(session, "a")
            engine.lose_reply("cell_write")
            document = await record.change(lambda document: {"count": document.get("count", 0) + 1})
            assert document["count"] == 1
            assert (await record.read()).document["count"] == 1

    @needs("cells")
    async def test_whoever_watches_is_told_of_the_change(self, site: Site) -> None:
        session, engine = connect_faulty(site, ttl=LASTING)
        async with session, connect_to(site, label="second") as second:
            await AsyncRecord(second, "a").change(lambda _: {"number": 1})
            seen = await AsyncRecord(session, "a").read()
            attempt = AsyncAttempt(lambda: AsyncRecord(session, "a").next(seen.version, 60))
            await engine.called("cell_watch")
            await AsyncRecord(second, "a").change(lambda _: {"number": 2})
            assert (await attempt.outcome()).document["number"] == 2

    @needs("cells")
    async def test_a_watch_that_ends_leaves_others_theirs(self, site: Site) -> None:
        session, engine = connect_faulty(site, ttl=LASTING)
        async with session, connect_to(site, label="second") as second:
            await AsyncRecord(second, "a").change(lambda _: {"number": 1})
            seen = await AsyncRecord(session, "a").read()
            attempt = AsyncAttempt(lambda: AsyncRecord(session, "a").next(seen.version, LASTING))
            await engine.called("cell_watch")
            for watcher in (session, second):
                assert await AsyncRecord(watcher, "a").next(seen.version, 0.05) == seen
            await AsyncRecord(second, "a").change(lambda _: {"number": 2})
            assert (await attempt.outcome()).document["number"] == 2

    @needs("cells")
    async def test_a_watch_without_news_ends_in_time_with_what_there_is(self, site: Site) -> None:
        async with connect_to(site) as session:
            record = AsyncRecord(session, "a")
            await record.change(lambda _: {"number": 1})
            seen = await record.read()
            assert await record.next(seen.version, 0.05) == seen
            # A change that was missed is told at once.
            assert await record.next(0, 60) == seen
