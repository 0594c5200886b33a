# Generated from src/fencepost/testing/contract/_async/fork.py by tools/unasync.py. Do not edit: run `make gen`.
"""The law of forks: in the child the parent's sessions are closed, and nothing of the parent's is released."""

from fencepost.testing.contract._sync.place import LASTING, connect_to, holders
from fencepost.testing.contract._sync.puppet import Puppet
from fencepost.testing.contract.site import Site


class ForkChapter:
    def test_a_forked_child_can_neither_use_nor_release_what_its_parent_has(self, site: Site) -> None:
        with Puppet(site, "parent", ttl=LASTING) as parent:
            token = (parent.ask("acquire", name="a", timeout=0))["token"]
            found = parent.ask("fork", name="a")
            assert found == {
                "raised": {"lock": "SessionClosed", "release": "SessionClosed", "look": "SessionClosed"},
                "held": False,
            }
            assert (parent.ask("held", name="a"))["held"]
            if site.traits.scope != "process":
                with connect_to(site) as session:
                    assert holders(session, "a") == ["parent"]
                    assert (session.look("a")).holders[0].claim.token == token
                    assert session.lock("a").try_acquire() is None
            parent.ask("release", name="a")
            assert (parent.ask("acquire", name="a", timeout=0))["token"] > token
