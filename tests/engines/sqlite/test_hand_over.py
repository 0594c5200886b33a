"""Whoever is next is told once the hand-over is written, and not before: what if it is never written?"""

import sqlite3
from typing import NoReturn

import pytest

from fencepost.contract.answer import Granted
from fencepost.core.claim import Ask, Claim
from fencepost.errors import Unavailable
from tests.engines.sqlite.conftest import MakeUser, StartChild
from tests.support.sqlite.clock import Clock


def _fail(*_: object) -> NoReturn:
    raise sqlite3.OperationalError("disk I/O error")


def test_a_holder_killed_before_it_writes_the_hand_over_has_told_nobody(user: MakeUser, child: StartChild) -> None:
    """The next in line may be done with the lock before anybody has looked who is dead."""
    one, two = user(), user()
    dying = child("fall")
    token = int(dying.hears()[1])
    first, second = one.queue("it"), two.queue("it")
    dying.go_on()
    heir = one.granted(first)
    assert heir.token > token
    assert one.engine.release(heir)
    last = two.granted(second)
    assert last.token > heir.token
    assert two.engine.release(last)
    snapshot = one.engine.look("it")
    assert snapshot.holders == snapshot.waiters == ()


def test_a_release_that_fails_tells_nobody_and_hands_over_once_it_is_asked_again(
    user: MakeUser, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two, three = user(), user(), user()
    claim = one.hold("it")
    first, second = two.queue("it"), three.queue("it")
    with monkeypatch.context() as patch:
        patch.setattr(one.engine._store, "execute", _fail)
        with pytest.raises(Unavailable):
            one.engine.release(claim)
    assert two.engine._mailbox.take() is None
    assert one.engine.release(claim), "settled by asking again"
    heir = two.granted(first)
    assert [standing.claim for standing in one.engine.look("it").holders] == [heir]
    assert two.engine.release(heir)
    last = three.granted(second)
    assert last.token > heir.token > claim.token
    assert three.engine.release(last)
    snapshot = one.engine.look("it")
    assert snapshot.holders == snapshot.waiters == ()


def test_whoever_hears_that_it_does_not_hold_leaves_nothing_that_could_be_granted_to_it(user: MakeUser) -> None:
    one, two, three = user(), user(), user()
    claim = one.hold("it")
    queued, behind = two.queue("it"), three.queue("it")
    believed = Claim(two.holder, queued.request.serial, Ask("it"), claim.token + 1)
    assert not two.engine.release(believed)
    assert [standing.claim.holder for standing in one.engine.look("it").waiters] == [three.holder]
    assert one.engine.release(claim)
    assert isinstance(three.engine.wait(behind, 20.0), Granted)


def test_a_release_after_the_lease_has_ended_hands_over_to_nobody_and_says_so(user: MakeUser, clock: Clock) -> None:
    one, two = user(ttl=60.0), user(ttl=600.0)
    claim, queued = one.hold("it"), two.queue("it")
    clock.skip(61.0)
    assert not one.engine.release(claim)
    assert two.granted(queued).token > claim.token
