# Written by hand; the blocking twin under _sync is generated from it.
"""The law of strangers: what others have written into the store concerns the name it stands under, and no other."""

from fencepost._runtime import aio as runtime
from fencepost.errors import AcquireTimeout, EngineError
from fencepost.testing.contract._async.place import connect_to, holders
from fencepost.testing.contract.need import needs
from fencepost.testing.contract.site import Site

# Long enough to stand in line behind whatever is there.
BRIEFLY = 0.05


class AsyncStrangersChapter:
    async def test_a_hostile_record_is_an_engine_error_or_nothing_and_no_other_name_notices(self, site: Site) -> None:
        async with connect_to(site) as session, connect_to(site, label="other") as other:
            kept = await other.lock("kept").acquire()
            for number, (title, leave) in enumerate(site.strangers.items()):
                name = f"strange {number}"
                leave(site, name)
                await _tried(lambda: session.look(name), title)  # noqa: B023
                await _tried(session.lock(name, timeout=0).acquire, title)
                await _tried(session.lock(name, timeout=BRIEFLY).acquire, title)
                await _tried(lambda: session.evict(name), title)  # noqa: B023
                await _tried(session.lock(name).try_acquire, title)
                assert await holders(session, "kept") == ["other"], title
                assert "kept" in await other.names(), title
                async with session.lock(f"free {number}"):
                    pass
            assert kept.held
            await kept.release()

    @needs("shared")
    async def test_whoever_shares_a_name_with_a_hostile_record_gets_it_or_an_engine_error(self, site: Site) -> None:
        async with connect_to(site) as session:
            for number, (title, leave) in enumerate(site.strangers.items()):
                name = f"strange {number}"
                leave(site, name)
                await _tried(session.rwlock(name).read().try_acquire, title)
                await _tried(lambda: session.lock_all([name, f"{name} too"], timeout=0).acquire(), title)  # noqa: B023
                async with session.rwlock(f"free {number}").read():
                    pass


async def _tried(call: runtime.Work[object], title: str) -> None:
    """What it is granted is given back. Nothing is raised but what a caller has to expect of any engine."""
    try:
        found = await call()
        release = getattr(found, "release", None)
        if release is not None:
            await release()
    except (EngineError, AcquireTimeout):
        pass
    except Exception as error:
        raise AssertionError(f"{title}: {type(error).__name__}: {error}") from error
