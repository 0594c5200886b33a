"""A barrier opens for exactly those who were counted."""

import threading

import pytest

import fencepost
from fencepost.core.roster import members
from fencepost.session._sync.record import Seen

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("times", [1, 2])
def test_one_who_was_struck_off_does_not_pass_when_it_opens_for_others(
    times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"memory://barrier-{times}"
    with fencepost.connect(url, ttl=60) as session, fencepost.connect(url, ttl=60) as others:
        barrier = session.barrier("b", 2)
        record = barrier._roster.record
        look = record.next

        def meet() -> None:
            threads = [threading.Thread(target=others.barrier("b", 2).wait) for _ in range(2)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

        def late(version: int, timeout: float) -> Seen:
            monkeypatch.setattr(record, "next", look)
            (member,) = members(record.read().document)
            # Its lock is taken from it, and it does not know yet.
            others.evict(f"b/{member.id}")
            for _ in range(times):
                meet()
            return record.read()

        monkeypatch.setattr(record, "next", late)
        with pytest.raises(fencepost.Lost, match="barrier 'b' opened for others"):
            barrier.wait()
        assert session.names() == []


def test_one_that_was_counted_passes_also_if_it_opened_again_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    url = "memory://barrier-counted"
    with fencepost.connect(url, ttl=60) as session, fencepost.connect(url, ttl=60) as others:
        barrier = session.barrier("b", 2)
        record = barrier._roster.record
        look = record.next

        def late(version: int, timeout: float) -> Seen:
            monkeypatch.setattr(record, "next", look)
            others.barrier("b", 2).wait()
            others.barrier("b", 1).wait()
            return record.read()

        monkeypatch.setattr(record, "next", late)
        assert barrier.wait() == 1
