"""The first in line is told before the state file is written: what if that never happens?"""

import sqlite3

import pytest

from fencepost.contract.answer import Granted
from fencepost.core.claim import Ask, Claim, Mode
from fencepost.engines.sqlite.gate import hash_of
from fencepost.engines.sqlite.heir import heir_of
from fencepost.errors import Unavailable


def claim_of(user, queued, answer):
    assert isinstance(answer, Granted), answer
    return Claim(user.holder, queued.request.serial, queued.request.asks[0], answer.tokens[0])


def noted(user, claim, after=0.0):
    """Who is noted as the heir of this claim, so many seconds from now."""
    engine = user.engine
    letter = heir_of(engine._store.gate, hash_of(claim.name), claim.token, engine._clock.now() + after, 1)
    return letter and (letter.holder, letter.serial)


def test_the_first_in_line_is_noted_and_the_second_is_not(user):
    one, two, three = user(), user(), user()
    claim = one.hold("it")
    assert noted(one, claim) is None
    first = two.queue("it")
    three.queue("it")
    assert noted(one, claim) == (two.holder.id, first.request.serial)


@pytest.mark.parametrize("change", ["withdraw", "close", "evict", "other token"])
def test_a_note_does_not_outlive_a_change(user, change):
    one, two = user(), user()
    claim = one.hold("it")
    queued = two.queue("it")
    if change == "withdraw":
        two.engine.withdraw(queued.request)
    elif change == "close":
        two.engine.lease_close(two.holder)
    elif change == "evict":
        one.engine.evict("it", "operator")
    else:
        claim = claim._replace(token=claim.token + 1)
    assert noted(one, claim) is None


def test_a_note_does_not_outlive_the_lease_of_the_heir(user):
    one, two = user(), user(ttl=30.0)
    claim = one.hold("it")
    two.queue("it")
    assert noted(one, claim, after=20.0) is not None
    assert noted(one, claim, after=31.0) is None


def test_one_whose_lease_may_have_ended_tells_nobody_before_the_state_file_is_asked(user, monkeypatch):
    one, two = user(), user()
    claim = one.hold("it")
    two.queue("it")
    one.engine._queue.lease_ends[one.holder.id] = 0.0
    with monkeypatch.context() as patch:
        patch.setattr(one.engine._store, "execute", _fail)
        with pytest.raises(Unavailable):
            one.engine.release(claim)
    assert two.engine._mailbox.take() is None


def test_one_who_shares_the_name_with_others_has_no_heir(user):
    one, two = user(), user()
    claim = one.hold(Ask("it", Mode.SHARED))
    two.queue("it")
    assert noted(one, claim) is None


def test_a_release_that_fails_after_the_letter_hands_over_once(user, monkeypatch):
    one, two, three = user(), user(), user()
    claim = one.hold("it")
    first, second = two.queue("it"), three.queue("it")
    with monkeypatch.context() as patch:
        patch.setattr(one.engine._store, "execute", _fail)
        with pytest.raises(Unavailable):
            one.engine.release(claim)
    heir = claim_of(two, first, two.engine.wait(first, 5.0))
    assert heir.token > claim.token
    assert one.engine.release(claim), "settled by asking again"
    assert [standing.claim.holder for standing in one.engine.look("it").holders] == [two.holder]
    assert two.engine.release(heir)
    last = claim_of(three, second, three.engine.wait(second, 5.0))
    assert last.token > heir.token
    assert three.engine.release(last)
    assert one.engine.look("it").holders == one.engine.look("it").waiters == ()


def test_a_holder_killed_after_the_letter_leaves_one_holder(user, child, monkeypatch):
    one, two = user(), user()
    dying = child("fall")
    token = int(dying.hears()[1])
    first, second = one.queue("it"), two.queue("it")
    dying.go_on()
    with monkeypatch.context() as patch:
        patch.setattr(one.engine, "_transact", lambda *_: pytest.fail("looked: there was no letter"))
        heir = claim_of(one, first, one.engine.wait(first, 5.0))
    assert heir.token > token
    dying.process.wait(20)
    # Somebody looks, and buries the dead: the name goes to the first in line, who has it.
    assert [standing.claim.holder for standing in two.engine.look("it").holders] == [one.holder]
    assert one.engine.release(heir)
    assert claim_of(two, second, two.engine.wait(second, 5.0)).token > heir.token


def _fail(*_):
    raise sqlite3.OperationalError("disk I/O error")
