"""Priorities where the short ways assume the order of arrival: the hand-over, the relay, the quick place."""

from collections.abc import Callable
from pathlib import Path

import pytest

from fencepost.contract.answer import Queued
from fencepost.core.claim import Ask, Mode
from fencepost.core.priority import BAND
from fencepost.engines.sqlite import gate, transfer
from tests.engines.sqlite.conftest import MakeUser
from tests.support.claim import GrantedClaim
from tests.support.sqlite.user import User


def queue(user: User, priority: int, ask: Ask | str = "it") -> Queued:
    return user.queue(ask, priority=priority)


def granted(user: User, queued: Queued) -> GrantedClaim:
    return user.granted(queued)


@pytest.fixture
def seasoned(user: MakeUser) -> Callable[[], User]:
    """Users who have waited before, and so may go the short ways."""

    def make() -> User:
        other, made = user(), user()
        other.hold(other.holder.id)
        made.engine.withdraw(queue(made, 0, other.holder.id).request)
        return made

    return make


def in_relay(user: User) -> bool:
    return user.engine._store.tracks.relay_of("it") is not None


def line(user: User) -> list[tuple[str, int]]:
    return [(each.claim.holder.id, each.priority) for each in user.engine.look("it").waiters]


@pytest.mark.parametrize("mode", [Mode.EXCLUSIVE, Mode.SHARED])
def test_whoever_was_first_in_line_is_not_told_once_it_was_overtaken(user: MakeUser, mode: Mode) -> None:
    one, two, three = user(), user(), user()
    claim = one.hold("it")
    first = queue(two, 0)
    higher = queue(three, 1, Ask("it", mode))
    assert one.engine.release(claim)
    other = granted(three, higher)
    assert isinstance(two.engine.wait(first, 0.05), Queued)
    assert three.engine.release(other)
    assert granted(two, first).token > other.token


def test_a_higher_one_ends_the_relay_of_a_name_and_goes_first(
    seasoned: Callable[[], User], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transfer, "QUICK", float("inf"))
    one, two, three, four = (seasoned() for _ in range(4))
    claim = one.hold("it")
    second, third = queue(two, 0), queue(three, 0)
    assert one.engine.release(claim)
    assert in_relay(one)
    held = granted(two, second)
    higher = queue(four, 5)
    assert not in_relay(one)
    assert line(one) == [(four.holder.id, 5), (three.holder.id, 0)]
    # It stands in line, and that line is none for a relay.
    last = queue(one, -5)
    assert two.engine.release(held)
    assert not in_relay(one)
    for each, queued in ((four, higher), (three, third), (one, last)):
        assert each.engine.release(granted(each, queued))


def test_a_higher_one_does_not_take_the_quick_place_of_a_plain_one(seasoned: Callable[[], User]) -> None:
    one, two, three = seasoned(), seasoned(), seasoned()
    claim = one.hold("it")
    plain = queue(two, 0)
    higher = queue(three, 1)
    assert line(one) == [(three.holder.id, 1), (two.holder.id, 0)]
    assert one.engine.release(claim)
    for each, queued in ((three, higher), (two, plain)):
        assert each.engine.release(granted(each, queued))


def test_a_plain_one_takes_its_place_before_a_lower_one_and_that_one_learns_whom_to_watch(
    seasoned: Callable[[], User], took: Callable[[], float]
) -> None:
    one, two, three = seasoned(), seasoned(), seasoned()
    claim = one.hold("it")
    low = queue(two, -1)
    assert not low.place.stirred
    plain = queue(three, 0)
    assert line(one) == [(three.holder.id, 0), (two.holder.id, -1)]
    seen = two.engine.wait(low, 30.0)
    assert took() < 20
    assert isinstance(seen, Queued)
    assert [each.holder.id for each in seen.ahead] == [three.holder.id]
    assert one.engine.release(claim)
    assert three.engine.release(granted(three, plain))
    assert two.engine.release(granted(two, low))


def test_the_turn_of_a_low_one_does_not_push_tokens_ahead_when_the_gate_is_lost(
    path: Path, user: MakeUser, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = user(), user()
    claim = one.hold("it")
    queue(two, -100)
    path.with_name("locks.db-gate").unlink()
    monkeypatch.setattr(gate, "wall_us", lambda: 1)
    token = one.token("another")
    assert claim.token < token < BAND
    # And who comes now still finds that there may be somebody behind it.
    assert one.engine._store.gate.words[gate.LOW] == 1
