# Generated from src/fencepost/testing/contract/_async/rwlock.py by tools/unasync.py. Do not edit: run `make gen`.
"""Readers and writers: readers share, a writer is alone, neither starves."""

import pytest

from fencepost.contract.answer import Granted
from fencepost.core.claim import Ask, Mode, Request
from fencepost.errors import Lost, Uncertain, Unsupported
from fencepost.primitives._sync.lock import Lock
from fencepost.testing.contract._sync.attempt import WITHIN, Attempt, until
from fencepost.testing.contract._sync.place import (
    LASTING,
    connect_brisk,
    connect_faulty,
    connect_to,
    holders,
    stand_in_line,
    until_queued,
    until_waiting,
)
from fencepost.testing.contract.need import lacks, needs
from fencepost.testing.contract.site import Site


class RwlockChapter:
    def test_an_engine_without_read_locks_says_so_when_one_is_made(self, site: Site) -> None:
        with connect_to(site) as session:
            if site.traits.shared:
                assert session.rwlock("a").read().name == "a"
            else:
                with pytest.raises(Unsupported, match="no shared locks"):
                    session.rwlock("a")

    @needs("shared")
    def test_readers_hold_together_each_with_a_token_of_its_own(self, site: Site) -> None:
        with connect_to(site) as first, connect_to(site, label="second") as second:
            one = first.rwlock("a").read().acquire()
            other = second.rwlock("a").read().acquire(timeout=0)
            assert other.token > one.token
            assert holders(first, "a") == ["first", "second"]
            assert second.rwlock("a").write().try_acquire() is None
            one.release()
            assert first.rwlock("a").write().try_acquire() is None
            other.release()
            written = first.rwlock("a").write().acquire(timeout=0)
            assert written.token > other.token
            assert second.rwlock("a").read().try_acquire() is None

    @needs("shared")
    def test_a_plain_lock_is_a_writer(self, site: Site) -> None:
        with connect_to(site) as session:
            with session.lock("a"):
                assert session.rwlock("a").read().try_acquire() is None
            with session.rwlock("a").read():
                assert session.lock("a").try_acquire() is None

    @needs("shared")
    def test_a_waiting_writer_is_not_overtaken_by_readers(self, site: Site) -> None:
        with connect_to(site) as first, connect_to(site, label="second") as second:
            reader = first.rwlock("a").read().acquire()
            writer = Attempt(second.rwlock("a").write().acquire)
            until_waiting(first, "a", 1)
            assert first.rwlock("a").read().try_acquire() is None
            late = Attempt(first.rwlock("a").read().acquire)
            until_waiting(first, "a", 2)
            reader.release()
            written = writer.outcome()
            assert not late.ended.is_set()
            written.release()
            (late.outcome()).release()

    @needs("shared")
    def test_readers_and_writers_stand_in_the_order_in_which_they_came(self, site: Site) -> None:
        # Writers after each reader: the next reader must be behind all of them.
        modes = [Mode.SHARED, Mode.EXCLUSIVE, Mode.EXCLUSIVE, Mode.EXCLUSIVE] * 4
        with connect_to(site) as first, connect_to(site, label="second") as second:
            held = first.lock("a").acquire()
            attempts = []
            for number, mode in enumerate(modes):
                attempts.append(Attempt(Lock(second, Ask("a", mode)).acquire))
                until_waiting(first, "a", number + 1)
            standings = (first.look("a")).waiters
            assert [standing.claim.ask.mode for standing in standings] == modes
            held.release()
            for attempt in attempts:
                (attempt.outcome()).release()

    @needs("shared")
    def test_readers_that_wait_are_granted_together(self, site: Site) -> None:
        with connect_to(site) as first, connect_to(site, label="second") as second:
            writer = first.rwlock("a").write().acquire()
            readers = [Attempt(second.rwlock("a").read().acquire) for _ in range(3)]
            until_waiting(first, "a", 3)
            writer.release()
            grants = [reader.outcome() for reader in readers]
            assert all(grant.held for grant in grants)

    @needs("shared")
    def test_a_reader_that_dies_makes_way_for_the_writer(self, site: Site) -> None:
        session, engine = connect_faulty(site)
        with session, connect_to(site, label="second") as second:
            reader = session.rwlock("a").read().acquire()
            writer = Attempt(second.rwlock("a").write().acquire)
            until_queued(second, "a", writer)
            engine.cut()
            written = writer.outcome()
            assert written.token > reader.token
            engine.heal()
            with pytest.raises(Lost):
                reader.check()

    @needs("shared")
    def test_an_interrupted_reader_leaves_nobody_queued(self, site: Site) -> None:
        with connect_to(site) as first, connect_to(site, label="second") as second:
            writer = first.rwlock("a").write().acquire()
            lock = Lock(second, Ask("a", Mode.SHARED), timeout=0.1)
            with pytest.raises(TimeoutError):
                lock.acquire()
            assert (first.look("a")).waiters == ()
            writer.release()

    @needs("shared")
    @lacks("downgrade")
    def test_an_engine_that_can_not_downgrade_says_so_and_keeps_the_lock(self, site: Site) -> None:
        with connect_to(site) as session, session.rwlock("a").write() as grant:
            with pytest.raises(Unsupported, match="trait 'downgrade'"):
                session.rwlock("a").downgrade(grant)
            assert grant.held

    @needs("shared", "downgrade")
    def test_a_writer_goes_on_as_a_reader_without_a_gap_and_with_its_token(self, site: Site) -> None:
        first, engine = connect_brisk(site, label="first")
        with first, connect_to(site, label="second") as second:
            rwlock = first.rwlock("a")
            written = rwlock.write().acquire()
            token = written.token
            reader = Attempt(second.rwlock("a").read().acquire)
            until_waiting(first, "a", 1)
            writer = Attempt(second.rwlock("a").write().acquire)
            until_waiting(first, "a", 2)
            rwlock.downgrade(written)
            read = reader.outcome()
            assert (written.held, written.token) == (True, token)
            assert not writer.ended.is_set()
            assert holders(first, "a") == ["first", "second"]
            # Renewed as what it is now: the first of these may have been sent before, the second is answered.
            engine.called("lease_renew", times=engine.calls.count("lease_renew") + 3)
            assert written.held
            rwlock.downgrade(written)
            written.release()
            assert not writer.ended.is_set()
            read.release()
            (writer.outcome()).release()

    @needs("shared", "downgrade")
    def test_a_downgrade_whose_answer_is_lost_can_be_asked_for_again(self, site: Site) -> None:
        session, engine = connect_brisk(site)
        with session, connect_to(site, label="second") as second:
            rwlock = session.rwlock("a")
            with rwlock.write() as grant:
                engine.lose_reply("share")
                with pytest.raises(Uncertain, match="ours still"):
                    rwlock.downgrade(grant)
                assert grant.held
                rwlock.downgrade(grant)
                with second.rwlock("a", timeout=WITHIN).read():
                    assert grant.held
            assert holders(second, "a") == []

    @needs("shared", "downgrade")
    def test_a_downgrade_whose_answer_is_lost_leaves_what_one_release_gives_back(self, site: Site) -> None:
        session, engine = connect_faulty(site, ttl=LASTING)
        with session, connect_to(site, label="other") as other:
            grant = session.rwlock("a").write().acquire()
            engine.lose_reply("share")
            with pytest.raises(Uncertain):
                session.rwlock("a").downgrade(grant)
            grant.release()
            assert (other.look("a")).holders == ()
            with other.rwlock("a", timeout=LASTING).write():
                pass

    @needs("shared", "downgrade")
    def test_a_lost_writer_does_not_become_a_reader(self, site: Site) -> None:
        with connect_to(site) as first, connect_to(site, label="operator") as operator:
            rwlock = first.rwlock("a")
            grant = rwlock.write().acquire()
            operator.evict("a")
            with pytest.raises(Lost):
                rwlock.downgrade(grant)
            assert holders(operator, "a") == []
            with pytest.raises(ValueError, match="this grant is of 'a'"):
                first.rwlock("b").downgrade(grant)

    @needs("shared", "downgrade")
    def test_whoever_reads_beside_a_writer_that_went_on_as_a_reader_outlives_it(self, site: Site) -> None:
        session, engine = connect_faulty(site)
        with session, connect_to(site, label="second") as second, connect_to(site, label="third") as third:
            grant = session.rwlock("a").write().acquire()
            while True:
                try:
                    session.rwlock("a").downgrade(grant)
                    break
                except Lost:
                    # Too late on a busy machine, as its lease is short.
                    grant = session.rwlock("a").write().acquire()
            read = second.rwlock("a").read().acquire(timeout=WITHIN)
            writer = Attempt(third.rwlock("a").write().acquire)
            until_waiting(second, "a", 1)
            engine.cut()
            assert grant.lost.wait(WITHIN)

            def gone() -> bool:
                return holders(second, "a") == ["second"]

            until(gone)
            assert read.held
            assert not writer.ended.is_set()
            engine.heal()
            read.release()
            assert (writer.outcome()).token > read.token

    @needs("shared", "downgrade")
    def test_a_reader_joins_a_writer_that_went_on_as_a_reader_when_nobody_is_left_between(
        self, site: Site
    ) -> None:
        with connect_to(site) as first, connect_to(site, label="second") as second:
            rwlock = first.rwlock("a")
            grant = rwlock.write().acquire()
            writer = stand_in_line(second, Ask("a"))
            reader = Attempt(second.rwlock("a").read().acquire)
            until_waiting(first, "a", 2)
            rwlock.downgrade(grant)
            assert not reader.ended.is_set()
            second.engine.withdraw(writer)
            assert (reader.outcome()).held
            assert grant.held

    @needs("shared", "downgrade")
    def test_a_reader_joins_a_writer_that_waited_before_it_and_went_on_as_a_reader(self, site: Site) -> None:
        with connect_to(site) as first, connect_to(site, label="second") as second:
            held = first.rwlock("a").write().acquire()
            writer = Attempt(first.rwlock("a").write().acquire)
            until_waiting(first, "a", 1)
            reader = Attempt(second.rwlock("a").read().acquire)
            until_waiting(first, "a", 2)
            held.release()
            written = writer.outcome()
            assert not reader.ended.is_set()
            first.rwlock("a").downgrade(written)
            assert (reader.outcome()).token > written.token

    @needs("shared", "downgrade")
    def test_all_who_read_are_evicted_beside_a_writer_that_went_on_as_a_reader(self, site: Site) -> None:
        (first, _), (second, _) = connect_brisk(site, label="first"), connect_brisk(site, label="second")
        with first, second:
            grant = first.rwlock("a").write().acquire()
            first.rwlock("a").downgrade(grant)
            read = second.rwlock("a").read().acquire(timeout=0)
            taken = second.evict("a")
            assert sorted(claim.holder.label for claim in taken) == ["first", "second"]
            assert {claim.ask.mode for claim in taken} == {Mode.SHARED}
            assert grant.lost.wait(WITHIN)
            assert read.lost.wait(WITHIN)
            assert second.rwlock("a").write().try_acquire() is not None

    @needs("shared", "downgrade")
    def test_a_writer_that_went_on_as_a_reader_is_the_same_request_and_is_withdrawn_as_one(
        self, site: Site
    ) -> None:
        session, engine = connect_brisk(site)
        with session, connect_to(site, label="second") as second:
            grant = session.rwlock("a").write().acquire()
            request = Request(grant.holder, grant.claim.serial, (grant.claim.ask,))
            session.rwlock("a").downgrade(grant)
            again = engine.claim(request, wait=True)
            assert isinstance(again, Granted)
            assert again.tokens == (grant.token,)
            with second.rwlock("a", timeout=WITHIN).read():
                engine.withdraw(request)
                assert holders(second, "a") == ["second"]
            assert second.rwlock("a").write().try_acquire() is not None
