# Written by hand; the blocking twin under _sync is generated from it.
"""The law of forks: in the child the parent's sessions are closed, and nothing of the parent's is released."""

from fencepost.testing.contract._async.place import LASTING, connect_to, holders
from fencepost.testing.contract._async.puppet import AsyncPuppet
from fencepost.testing.contract.site import Site


class AsyncForkChapter:
    async def test_a_forked_child_can_neither_use_nor_release_what_its_parent_has(self, site: Site) -> None:
        async with AsyncPuppet(site, "parent", ttl=LASTING) as parent:
            token = (await parent.ask("acquire", name="a", timeout=0))["token"]
            found = await parent.ask("fork", name="a")
            assert found == {
                "raised": {"lock": "SessionClosed", "release": "SessionClosed", "look": "SessionClosed"},
                "held": False,
            }
            assert (await parent.ask("held", name="a"))["held"]
            if site.traits.scope != "process":
                async with connect_to(site) as session:
                    assert await holders(session, "a") == ["parent"]
                    assert (await session.look("a")).holders[0].claim.token == token
                    assert await session.lock("a").try_acquire() is None
            await parent.ask("release", name="a")
            assert (await parent.ask("acquire", name="a", timeout=0))["token"] > token
