# Generated from src/fencepost/testing/contract/_async/fork.py by tools/unasync.py. Do not edit: run `make gen`.
"""The law of forks: in the child a session begins anew, and nothing of the parent's is used, released or closed."""

from fencepost.testing.contract._sync.place import LASTING, connect_to, holders, until_waiting
from fencepost.testing.contract._sync.puppet import Puppet
from fencepost.testing.contract.need import needs
from fencepost.testing.contract.site import Site


class ForkChapter:
    def test_a_forked_child_has_a_lease_of_its_own_and_nothing_that_its_parent_has(self, site: Site) -> None:
        with Puppet(site, "parent", ttl=LASTING) as parent:
            token = (parent.ask("acquire", name="a", timeout=0))["token"]
            found = parent.ask("fork", name="a")
            apart = site.traits.scope == "process"
            assert found == {"held": False, "release": "NotHeld", "same": apart, "another": True}
            assert (parent.ask("held", name="a"))["held"]
            if site.traits.scope != "process":
                with connect_to(site) as session:
                    assert holders(session, "a") == ["parent"]
                    assert (session.look("a")).holders[0].claim.token == token
                    assert session.lock("a").try_acquire() is None
            parent.ask("release", name="a")
            assert (parent.ask("acquire", name="a", timeout=0))["token"] > token
            # It hears as before: nothing that its connections are registered with was touched.
            if site.traits.scope != "process":
                with connect_to(site) as session:
                    held = session.lock("b").acquire()
                    parent.tell("acquire", name="b", timeout=None)
                    until_waiting(session, "b", 1)
                    held.release()
                    assert (parent.answer())["token"] > held.token

    @needs(scope="host")
    def test_a_forked_child_that_closes_and_forgets_its_engine_does_not_deafen_its_parent(
        self, site: Site
    ) -> None:
        with Puppet(site, "parent", ttl=LASTING) as parent, connect_to(site) as session:
            token = (parent.ask("acquire", name="kept", timeout=0))["token"]
            parent.ask("calls")
            # It has waited once, so that all that it listens on is open.
            for forks in (False, True):
                if forks:
                    parent.ask("fork_and_forget")
                held = session.lock("a").acquire(timeout=0)
                parent.tell("acquire", name="a", timeout=LASTING / 4)
                until_waiting(session, "a", 1)
                held.release()
                assert (parent.answer())["token"] > held.token
                # It was told, and had no trouble after which it asked again.
                assert (parent.ask("calls"))["calls"].count("claim") == 1
                assert parent.ask("release", name="a") == {}
            assert (session.look("kept")).holders[0].claim.token == token
            assert (parent.ask("held", name="kept"))["held"]

    def test_a_session_that_was_made_and_not_used_works_in_every_child(self, site: Site) -> None:
        with Puppet(site, "parent", ttl=LASTING) as parent:
            assert (parent.ask("unused"))["locked"] == [True, True]
