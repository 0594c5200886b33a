# Written by hand; the blocking twin under _sync is generated from it.
"""The law of forks: in the child a session begins anew, and nothing of the parent's is used, released or closed."""

from fencepost.testing.contract._async.place import LASTING, connect_to, holders, until_waiting
from fencepost.testing.contract._async.puppet import AsyncPuppet
from fencepost.testing.contract.need import needs
from fencepost.testing.contract.site import Site


class AsyncForkChapter:
    async def test_a_forked_child_has_a_lease_of_its_own_and_nothing_that_its_parent_has(self, site: Site) -> None:
        async with AsyncPuppet(site, "parent", ttl=LASTING) as parent:
            token = (await parent.ask("acquire", name="a", timeout=0))["token"]
            found = await parent.ask("fork", name="a")
            apart = site.traits.scope == "process"
            assert found == {"held": False, "release": "NotHeld", "same": apart, "another": True}
            assert (await parent.ask("held", name="a"))["held"]
            if site.traits.scope != "process":
                async with connect_to(site) as session:
                    assert await holders(session, "a") == ["parent"]
                    assert (await session.look("a")).holders[0].claim.token == token
                    assert await session.lock("a").try_acquire() is None
            await parent.ask("release", name="a")
            assert (await parent.ask("acquire", name="a", timeout=0))["token"] > token
            # It hears as before: nothing that its connections are registered with was touched.
            if site.traits.scope != "process":
                async with connect_to(site) as session:
                    held = await session.lock("b").acquire()
                    parent.tell("acquire", name="b", timeout=None)
                    await until_waiting(session, "b", 1)
                    await held.release()
                    assert (await parent.answer())["token"] > held.token

    @needs(scope="host")
    async def test_a_forked_child_that_closes_and_forgets_its_engine_does_not_deafen_its_parent(
        self, site: Site
    ) -> None:
        async with AsyncPuppet(site, "parent", ttl=LASTING) as parent, connect_to(site) as session:
            token = (await parent.ask("acquire", name="kept", timeout=0))["token"]
            await parent.ask("calls")
            # It has waited once, so that all that it listens on is open.
            for forks in (False, True):
                if forks:
                    await parent.ask("fork_and_forget")
                held = await session.lock("a").acquire(timeout=0)
                parent.tell("acquire", name="a", timeout=LASTING / 4)
                await until_waiting(session, "a", 1)
                await held.release()
                assert (await parent.answer())["token"] > held.token
                # It was told, and had no trouble after which it asked again.
                assert (await parent.ask("calls"))["calls"].count("claim") == 1
                assert await parent.ask("release", name="a") == {}
            assert (await session.look("kept")).holders[0].claim.token == token
            assert (await parent.ask("held", name="kept"))["held"]

    async def test_a_session_that_was_made_and_not_used_works_in_every_child(self, site: Site) -> None:
        async with AsyncPuppet(site, "parent", ttl=LASTING) as parent:
            assert (await parent.ask("unused"))["locked"] == [True, True]
