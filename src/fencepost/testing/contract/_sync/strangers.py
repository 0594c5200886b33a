# Generated from src/fencepost/testing/contract/_async/strangers.py by tools/unasync.py. Do not edit: run `make gen`.
"""The law of strangers: what others have written into the store concerns the name it stands under, and no other."""

from fencepost._runtime import threads as runtime
from fencepost.errors import AcquireTimeout, EngineError
from fencepost.testing.contract._sync.place import connect_to, holders
from fencepost.testing.contract.need import needs
from fencepost.testing.contract.site import Site

# Long enough to stand in line behind whatever is there.
BRIEFLY = 0.05


class StrangersChapter:
    def test_a_hostile_record_is_an_engine_error_or_nothing_and_no_other_name_notices(self, site: Site) -> None:
        with connect_to(site) as session, connect_to(site, label="other") as other:
            kept = other.lock("kept").acquire()
            for number, (title, leave) in enumerate(site.strangers.items()):
                name = f"strange {number}"
                leave(site, name)
                _tried(lambda: session.look(name), title)  # noqa: B023
                _tried(session.lock(name, timeout=0).acquire, title)
                _tried(session.lock(name, timeout=BRIEFLY).acquire, title)
                _tried(lambda: session.evict(name), title)  # noqa: B023
                _tried(session.lock(name).try_acquire, title)
                assert holders(session, "kept") == ["other"], title
                assert "kept" in other.names(), title
                with session.lock(f"free {number}"):
                    pass
            assert kept.held
            kept.release()

    @needs("shared")
    def test_whoever_shares_a_name_with_a_hostile_record_gets_it_or_an_engine_error(self, site: Site) -> None:
        with connect_to(site) as session:
            for number, (title, leave) in enumerate(site.strangers.items()):
                name = f"strange {number}"
                leave(site, name)
                _tried(session.rwlock(name).read().try_acquire, title)
                _tried(lambda: session.lock_all([name, f"{name} too"], timeout=0).acquire(), title)  # noqa: B023
                with session.rwlock(f"free {number}").read():
                    pass


def _tried(call: runtime.Work[object], title: str) -> None:
    """What it is granted is given back. Nothing is raised but what a caller has to expect of any engine."""
    try:
        found = call()
        release = getattr(found, "release", None)
        if release is not None:
            release()
    except (EngineError, AcquireTimeout):
        pass
    except Exception as error:
        raise AssertionError(f"{title}: {type(error).__name__}: {error}") from error
