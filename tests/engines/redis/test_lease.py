"""What an engine remembers of a lease while answers are on their way."""

import itertools
from typing import Any

import pytest

from fencepost import Unavailable
from fencepost._runtime.threads import BootClock
from fencepost.core.claim import Ask, Claim, Request
from fencepost.core.holder import Holder
from fencepost.core.url import parse_url
from fencepost.engines.redis.cluster._sync.engine import ClusterEngine
from fencepost.engines.redis.key import SINGLE, Place
from fencepost.engines.redis.lease import Entry, Epochs, Lease, Subject
from fencepost.engines.redis.script import OPEN, Script
from fencepost.engines.redis.waiter import Waiter
from tests.support.interruption import interrupt_at

pytestmark = pytest.mark.unit

HOLDER = Holder("0" * 24, "first")
CLAIM = Claim(HOLDER, 1, Ask("a"), 7)


def noted() -> tuple[Lease, Entry]:
    lease = Lease(HOLDER, 10, "channel")
    lease.slots[0] = SINGLE
    return lease, lease.note(Request(HOLDER, 1, (Ask("a"),)), [Place(b"a", clustered=False)])


def subject(lease: Lease) -> Subject:
    (batch,) = lease.renewals()
    return batch.subjects[0]


def test_a_place_granted_while_its_renewal_was_under_way_is_renewed_on() -> None:
    lease, entry = noted()
    waiting = subject(lease)
    entry.tokens, entry.packed = {"a": 7}, None
    lease.miss(waiting)
    assert lease.lacking([CLAIM], ()) == []
    assert subject(lease).said.endswith(b"fp:%b:1:7:\r\n" % HOLDER.id.encode())


def test_a_claim_that_is_gone_is_renewed_no_more() -> None:
    lease, entry = noted()
    entry.tokens = {"a": 7}
    lease.miss(subject(lease))
    assert lease.lacking([CLAIM], ()) == [(1, "a")]
    assert lease.entries == {}


def test_a_claim_that_was_said_to_be_gone_is_lacking_also_if_the_lease_still_knows_it() -> None:
    lease, entry = noted()
    entry.tokens = {"a": 7}
    assert lease.lacking([CLAIM], {(1, "a"): "evicted"}) == [(1, "a")]


def test_what_was_said_of_a_place_is_not_said_of_its_grant() -> None:
    lease, entry = noted()
    assert subject(lease).said.split(b"\r\n")[1].startswith(b"=")
    entry.tokens, entry.packed = {"a": 7}, None
    assert subject(lease).token == 7


def test_whoever_waits_looks_again_when_its_place_has_become_something_else() -> None:
    lease, entry = noted()
    entry.waiter = Waiter()
    lease.miss(subject(lease))
    assert entry.waiter.stirred


def test_a_grant_that_came_while_its_place_was_packed_is_packed_anew_after_one_renewal() -> None:
    lease, entry = noted()
    stale = subject(lease)
    entry.tokens = {"a": 7}
    assert subject(lease) is stale
    lease.miss(stale)
    assert subject(lease).token == 7


def test_an_epoch_has_begun_wherever_its_beginning_is_interrupted() -> None:
    """What went unanswered would count still."""
    for point in itertools.count(1):
        epochs = Epochs()
        where = interrupt_at(point, epochs.advance)
        assert epochs.now == b"2", where
        if where is None:
            break
    assert point > 1


def test_a_server_that_never_knows_a_lease_is_not_asked_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = ClusterEngine(parse_url("redis+cluster://127.0.0.1:1"), clock=BootClock(), patience=1.0)

    def run(script: Script, command: bytes, slot: int) -> Any:
        return 1 if script is OPEN else [-1]

    monkeypatch.setattr(engine._server, "run", run)
    engine.lease_open(HOLDER, 10)
    with pytest.raises(Unavailable, match="does not know a lease"):
        engine.claim(Request(HOLDER, 1, (Ask("a"),)), wait=False)
