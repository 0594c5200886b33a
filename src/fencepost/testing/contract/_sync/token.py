# Generated from src/fencepost/testing/contract/_async/token.py by tools/unasync.py. Do not edit: run `make gen`.
"""The law of tokens: for one name they strictly increase in grant order, for ever."""

import pytest

from fencepost.errors import Lost
from fencepost.testing.contract._sync.attempt import WITHIN, Attempt
from fencepost.testing.contract._sync.place import connect_brisk, connect_faulty, connect_to, holders, until_waiting
from fencepost.testing.contract._sync.puppet import Puppet
from fencepost.testing.contract.need import needs
from fencepost.testing.contract.site import Site


class TokenChapter:
    def test_a_token_is_a_positive_integer(self, site: Site) -> None:
        with connect_to(site) as session, session.lock("a") as grant:
            assert isinstance(grant.token, int)
            assert 0 < grant.token < 2**63

    def test_tokens_grow_from_grant_to_grant(self, site: Site) -> None:
        with connect_to(site) as session:
            tokens = []
            for _ in range(50):
                with session.lock("a") as grant:
                    tokens.append(grant.token)
            assert tokens == sorted(set(tokens))

    def test_tokens_grow_from_session_to_session(self, site: Site) -> None:
        tokens = []
        for number in range(5):
            with connect_to(site, label=f"session {number}") as session, session.lock("a") as grant:
                tokens.append(grant.token)
        assert tokens == sorted(set(tokens))

    def test_a_renewal_keeps_the_token(self, site: Site) -> None:
        session, engine = connect_brisk(site)
        with session, session.lock("a") as grant:
            before = grant.token
            engine.called("lease_renew", times=2)
            assert grant.held
            assert grant.token == before
            assert (session.look("a")).holders[0].claim.token == before

    def test_a_re_entry_keeps_the_token(self, site: Site) -> None:
        with connect_to(site) as session:
            with session.lock("a", reentrant=True) as outer:
                with session.lock("a", reentrant=True) as inner:
                    assert inner.token == outer.token
                assert outer.held
                assert session.lock("a").try_acquire() is None
            grant = session.lock("a").try_acquire()
            assert grant is not None
            assert grant.token > outer.token

    def test_a_grant_handed_over_has_a_higher_token(self, site: Site) -> None:
        with connect_to(site) as first, connect_to(site, label="second") as second:
            grant = first.lock("a").acquire()
            attempt = Attempt(second.lock("a").acquire)
            until_waiting(first, "a", 1)
            grant.release()
            assert (attempt.outcome()).token > grant.token

    def test_the_token_grows_after_the_lease_ran_out(self, site: Site) -> None:
        session, engine = connect_faulty(site)
        with session, connect_to(site, label="second") as second:
            old = session.lock("a").acquire()
            engine.cut()
            new = second.lock("a").acquire(timeout=WITHIN)
            assert new.token > old.token
            assert not old.held
            engine.heal()

    def test_the_token_grows_after_an_eviction(self, site: Site) -> None:
        with connect_to(site) as first, connect_to(site, label="second") as second:
            old = first.lock("a").acquire()
            second.evict("a")
            new = second.lock("a").acquire(timeout=0)
            assert new.token > old.token

    @needs("shared")
    def test_every_reader_has_a_token_of_its_own(self, site: Site) -> None:
        with connect_to(site) as first, connect_to(site, label="second") as second:
            readers = [session.rwlock("a").read().acquire(timeout=0) for session in (first, second, first)]
            tokens = [reader.token for reader in readers]
            assert tokens == sorted(set(tokens))
            for reader in readers:
                reader.release()
            with second.rwlock("a").write() as writer:
                assert writer.token > max(tokens)

    def test_a_claim_whose_reply_was_lost_has_one_token(self, site: Site) -> None:
        session, engine = connect_brisk(site)
        with session:
            engine.lose_reply("claim")
            with session.lock("a") as grant:
                held = (session.look("a")).holders
                assert [standing.claim.token for standing in held] == [grant.token]

    @needs(scope="host")
    def test_the_token_grows_after_the_holder_was_killed(self, site: Site) -> None:
        with Puppet(site, "victim") as victim, connect_to(site) as session:
            old = victim.ask("acquire", name="a", timeout=0)
            victim.kill()
            new = session.lock("a").acquire(timeout=WITHIN)
            assert new.token > old["token"]

    def test_only_exactly_this_grant_is_released(self, site: Site) -> None:
        with connect_to(site) as first, connect_to(site, label="second") as second:
            old = first.lock("a").acquire()
            second.evict("a")
            new = first.lock("a").acquire(timeout=0)
            with pytest.raises(Lost):
                old.release()
            assert new.held
            assert holders(second, "a") == ["first"]
