# Generated from src/fencepost/testing/contract/_async/fence.py by tools/unasync.py. Do not edit: run `make gen`.
"""The law of fences: whoever lost the lock is refused at the resource, however late it comes."""

import pytest

from fencepost.errors import Stale
from fencepost.fences import MemoryFence
from fencepost.testing.contract._sync.attempt import WITHIN
from fencepost.testing.contract._sync.place import connect_faulty, connect_to
from fencepost.testing.contract.site import Site


class FenceChapter:
    def test_a_holder_writes_twice_with_the_same_token(self, site: Site) -> None:
        fence = MemoryFence()
        with connect_to(site) as session, session.lock("a") as grant:
            for _ in range(2):
                with fence.guard("a", grant):
                    pass
            assert fence.highest("a") == grant.token

    def test_a_holder_that_lost_the_lock_is_refused_once_the_next_has_claimed(self, site: Site) -> None:
        fence = MemoryFence()
        session, engine = connect_faulty(site)
        with session, connect_to(site, label="second") as second:
            old = session.lock("a").acquire()
            fence.claim("a", old)
            engine.cut()
            new = second.lock("a").acquire(timeout=WITHIN)
            fence.claim("a", new)
            with pytest.raises(Stale) as refused, fence.guard("a", old):
                raise AssertionError("the guarded operation happened")
            assert (refused.value.token, refused.value.highest) == (old.token, new.token)
            engine.heal()
