"""What an operator sees and does."""

import pytest

from fencepost.contract.answer import Renewal
from fencepost.engines.sqlite import sight
from tests.engines.sqlite.conftest import MakeUser

pytestmark = pytest.mark.unit


def test_a_prefix_is_plain_text_and_names_come_sorted(user: MakeUser) -> None:
    one = user()
    for name in ("a%c", "abc", "a%b", "A%b", "a_", "äb"):
        one.hold(name)
    assert one.engine.names("a%") == ["a%b", "a%c"]
    assert one.engine.names("a_") == ["a_"]
    assert one.engine.names("") == sorted(("a%c", "abc", "a%b", "A%b", "a_", "äb"))


def test_a_renewal_tells_which_claim_was_evicted_and_by_whom(user: MakeUser) -> None:
    one, two = user(), user()
    kept, taken = one.hold("kept"), one.hold("taken")
    assert one.engine.lease_renew(one.holder, 30.0, (kept, taken)) == Renewal(True)
    assert two.engine.evict("taken", "an operator") == (taken,)
    gone = ((taken.serial, "taken", "evicted by an operator"),)
    assert one.engine.lease_renew(one.holder, 30.0, (kept, taken)) == Renewal(True, gone)
    assert not one.engine.release(taken)
    assert one.engine.release(kept)


def test_the_record_of_evictions_is_bounded(user: MakeUser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sight, "MOST_EVICTIONS", 3)
    one = user()
    tokens = []
    for _ in range(5):
        tokens.append(one.hold("it").token)
        one.engine.evict("it", "an operator")
    assert [eviction.token for eviction in one.engine.look("it").evictions] == tokens[:1:-1]
