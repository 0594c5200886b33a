"""Queues that move fast are kept in shared memory: whatever happens there must be as if they were in the state file."""

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fencepost.contract.answer import Busy, Gone, Granted, Queued
from fencepost.core.claim import Ask, Claim, Mode
from fencepost.engines.sqlite import gate, transfer
from fencepost.engines.sqlite.relay import ROOM
from fencepost.errors import FencepostWarning
from tests.engines.sqlite.conftest import MakeUser, StartChild
from tests.support.claim import GrantedClaim
from tests.support.sqlite.clock import Clock
from tests.support.sqlite.user import User

# Leases are 60 s, and so long do those wait whom nobody tells.
AT_ONCE = 20.0
SHORT = 30.0

MakeRelay = Callable[..., tuple[GrantedClaim, User, Queued, User]]


@pytest.fixture(autouse=True)
def every_pace_is_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfer, "QUICK", float("inf"))


def in_relay(user: User, name: str = "it") -> bool:
    return user.engine._store.tracks.relay_of(name) is not None


def granted(user: User, queued: Queued) -> GrantedClaim:
    return user.granted(queued)


def holders_and_waiters(user: User, name: str = "it") -> tuple[list[str], list[str]]:
    snapshot = user.engine.look(name)
    return [each.claim.holder.id for each in snapshot.holders], [each.claim.holder.id for each in snapshot.waiters]


@pytest.fixture
def relay(user: MakeUser) -> MakeRelay:
    """A name in a relay: the claim of who holds it, its user, and the place of another who waits, and that user."""

    def make(holder: User | None = None, waiter: User | None = None) -> tuple[GrantedClaim, User, Queued, User]:
        one, two, three = user(), holder or user(), waiter or user()
        first = one.hold("it")
        second, third = two.queue("it"), three.queue("it")
        assert one.engine.release(first)
        assert in_relay(one)
        return granted(two, second), two, third, three

    return make


def test_a_name_that_changes_hands_slowly_gets_no_relay(user: MakeUser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfer, "QUICK", 0.0)
    one, two = user(), user()
    for _ in range(3):
        claim = one.hold("it")
        queued = two.queue("it")
        one.engine.release(claim)
        two.engine.release(granted(two, queued))
    assert not in_relay(one)


# A waiter that gets no processor for too long looks into the state file, as it should.
@pytest.mark.calm
def test_waiters_in_a_relay_are_served_in_turn_without_the_state_file(
    user: MakeUser, relay: MakeRelay, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim, holder, queued, waiter = relay()
    tokens = [claim.token]
    for each in (holder, waiter):
        monkeypatch.setattr(each.engine._store, "execute", lambda *_: pytest.fail("went to the state file"))
    for _ in range(2 * ROOM):
        again = holder.queue("it")
        assert holder.engine.release(claim)
        claim, holder, waiter, queued = granted(waiter, queued), waiter, holder, again
        tokens.append(claim.token)
    assert tokens == sorted(set(tokens))


def test_a_free_name_in_a_relay_is_granted_and_released_there(user: MakeUser, relay: MakeRelay) -> None:
    claim, holder, queued, waiter = relay()
    assert holder.engine.release(claim)
    claim = granted(waiter, queued)
    assert waiter.engine.release(claim)
    assert not waiter.engine.release(claim)
    assert holders_and_waiters(holder) == ([], [])
    three = user()
    claim, holder, queued, waiter = relay()
    assert holder.engine.release(claim)
    assert waiter.engine.release(granted(waiter, queued))
    # Has no mailbox, and needs none.
    answer = three.engine.claim(three.request("it"), wait=True)
    assert isinstance(answer, Granted)
    assert in_relay(three)
    assert holders_and_waiters(holder) == ([three.holder.id], [])


def test_an_operator_sees_and_takes_what_is_in_a_relay(user: MakeUser, relay: MakeRelay) -> None:
    operator = user()
    claim, holder, queued, waiter = relay()
    again = holder.queue("it")
    assert holders_and_waiters(operator) == ([holder.holder.id], [each.holder.id for each in (waiter, holder)])
    assert operator.engine.names("") == ["it"]
    assert [standing.claim for standing in operator.engine.look("it").holders] == [claim]
    assert operator.engine.evict("it", "an operator") == (claim,)
    assert holders_and_waiters(operator) == ([waiter.holder.id], [holder.holder.id])
    assert not holder.engine.release(claim)
    assert waiter.engine.release(granted(waiter, queued))
    assert holder.engine.release(granted(holder, again))


def test_how_long_a_name_is_held_counts_from_its_grant(relay: MakeRelay, clock: Clock) -> None:
    claim, holder, _, waiter = relay()
    clock.skip(30.0)
    holder.engine.release(claim)
    (standing,) = waiter.engine.look("it").holders
    assert standing.claim.holder == waiter.holder
    assert 0 <= standing.since < 30.0


def test_asking_again_in_a_relay_is_answered_the_same(relay: MakeRelay) -> None:
    claim, holder, queued, waiter = relay()
    again = holder.queue("it")
    assert in_relay(holder)
    assert isinstance(holder.engine.claim(again.request, wait=True), Queued)
    assert holders_and_waiters(holder) == ([holder.holder.id], [waiter.holder.id, holder.holder.id])
    holder.engine.release(claim)
    first = granted(waiter, queued)
    assert waiter.engine.claim(queued.request, wait=True) == Granted((first.token,))


def test_who_leaves_a_relay_leaves_nothing(relay: MakeRelay) -> None:
    claim, holder, queued, waiter = relay()
    again = holder.queue("it")
    waiter.engine.withdraw(queued.request)
    assert isinstance(waiter.engine.wait(queued, 0.0), Gone)
    holder.engine.release(claim)
    assert holder.engine.release(granted(holder, again))
    assert holders_and_waiters(holder) == ([], [])


def test_whoever_closes_its_lease_leaves_every_relay(relay: MakeRelay) -> None:
    claim, holder, queued, waiter = relay()
    holder.queue("it")
    holder.engine.lease_close(holder.holder)
    assert granted(waiter, queued).token > claim.token
    assert holders_and_waiters(waiter) == ([waiter.holder.id], [])


def test_requests_that_are_not_plain_find_their_place_behind_a_relay(user: MakeUser, relay: MakeRelay) -> None:
    both = user()
    claim, holder, queued, waiter = relay()
    shared = holder.queue(Ask("it", Mode.SHARED))
    several = both.queue("it", "other")
    waiting = [standing.claim.ask.mode for standing in both.engine.look("it").waiters]
    assert waiting == [Mode.EXCLUSIVE, Mode.SHARED, Mode.EXCLUSIVE]
    holder.engine.release(claim)
    waiter.engine.release(granted(waiter, queued))
    assert holder.engine.release(granted(holder, shared))
    answer: object = several
    while isinstance(answer, Queued):
        answer = both.engine.wait(answer, 10.0)
    assert isinstance(answer, Granted)
    assert len(answer.tokens) == 2


def test_one_who_does_not_wait_is_told_who_has_a_name_in_a_relay(user: MakeUser, relay: MakeRelay) -> None:
    claim, holder, queued, waiter = relay()
    one = user()
    assert one.engine.claim(one.request("it"), wait=False) == Busy(
        (Claim(waiter.holder, queued.request.serial, Ask("it")),)
    )
    assert holders_and_waiters(one) == ([claim.holder.id], [waiter.holder.id])
    assert holder.engine.release(claim)


def test_one_who_never_waited_before_is_told_its_grant_in_a_relay(user: MakeUser, relay: MakeRelay) -> None:
    newcomer = user()
    claim, holder, queued, waiter = relay()
    last = newcomer.queue("it")
    assert holder.engine.release(claim)
    assert waiter.engine.release(granted(waiter, queued))
    assert isinstance(newcomer.engine.wait(last, 10.0), Granted)


def test_a_relay_that_is_full_goes_on_in_the_state_file(user: MakeUser, relay: MakeRelay) -> None:
    claim, holder, queued, waiter = relay()
    crowd = [(holder, holder.queue("it")) for _ in range(ROOM + 5)]
    holder.engine.release(claim)
    tokens = [claim.token]
    for who, place in [(waiter, queued), *crowd]:
        claim = granted(who, place)
        tokens.append(claim.token)
        assert who.engine.release(claim)
    assert tokens == sorted(set(tokens))


def test_two_names_of_one_slot_do_not_mix(user: MakeUser) -> None:
    one, two = user(), user()
    tracks = one.engine._store.tracks
    same = [name for name in map(str, range(100)) if tracks.slot_for(name) is tracks.slot_for("0")][:2]
    claims = {name: one.hold(name) for name in same}
    queued = {name: two.queue(name) for name in same}
    for name in same:
        assert one.engine.release(claims[name])
    assert [in_relay(one, name) for name in same] == [True, False]
    for name in same:
        assert two.engine.release(granted(two, queued[name]))


def test_a_lease_renewed_while_it_waited_in_a_relay_is_served(user: MakeUser, relay: MakeRelay, clock: Clock) -> None:
    claim, holder, queued, waiter = relay(waiter=user(ttl=SHORT))
    assert waiter.engine.lease_renew(waiter.holder, 60.0, ()).alive
    clock.skip(SHORT)
    assert holder.engine.release(claim)
    assert granted(waiter, queued).token > claim.token


def test_a_lease_that_ended_while_it_waited_in_a_relay_is_passed_over(
    user: MakeUser, relay: MakeRelay, clock: Clock
) -> None:
    claim, holder, queued, waiter = relay(waiter=user(ttl=SHORT))
    again = holder.queue("it")
    clock.skip(SHORT)
    assert holder.engine.release(claim)
    assert waiter.engine._mailbox.take() is None
    assert granted(holder, again).token > claim.token
    assert isinstance(waiter.engine.wait(queued, 0.1), Gone)


def test_a_holder_whose_lease_ended_releases_nothing_in_a_relay(user: MakeUser, relay: MakeRelay, clock: Clock) -> None:
    claim, holder, queued, waiter = relay(holder=user(ttl=SHORT))
    clock.skip(SHORT)
    first = granted(waiter, queued)
    assert first.token > claim.token
    assert not holder.engine.release(claim)
    assert holders_and_waiters(waiter) == ([waiter.holder.id], [])


def test_a_grant_in_a_relay_whose_letter_was_never_sent_is_found(
    relay: MakeRelay, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim, holder, queued, waiter = relay()
    monkeypatch.setattr(holder.engine, "_post", lambda letters: None)
    holder.engine.release(claim)
    assert isinstance(waiter.engine.wait(queued, 0.1), Granted)


def test_a_letter_of_a_relay_that_nobody_can_get_passes_the_name_on(user: MakeUser, relay: MakeRelay) -> None:
    claim, holder, _, waiter = relay()
    again = holder.queue("it")
    waiter.engine._mailbox.inbox.close()
    assert holder.engine.release(claim)
    assert granted(holder, again).token > claim.token


def test_after_the_state_file_was_deleted_relays_are_gone_and_tokens_go_on(
    path: Path, user: MakeUser, relay: MakeRelay, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim, holder, _, _ = relay()
    holder.queue("it")
    path.unlink()
    monkeypatch.setattr(gate, "wall_us", lambda: 1)
    assert user().token("it") > claim.token
    assert isinstance(holder.engine.claim(holder.request("it"), wait=True), Gone)


def test_a_relay_goes_on_until_somebody_finds_that_the_state_file_was_deleted(path: Path, relay: MakeRelay) -> None:
    claim, holder, queued, waiter = relay()
    holder.queue("it")
    path.unlink()
    holder.queue("it")
    assert holder.engine.release(claim)
    assert granted(waiter, queued).token > claim.token


def test_a_lease_of_before_the_state_file_was_made_anew_joins_no_relay_of_the_new_one(
    path: Path, relay: MakeRelay
) -> None:
    _, holder, _, _ = relay()
    holder.queue("it")
    path.unlink()
    relay()
    assert isinstance(holder.engine.claim(holder.request("it"), wait=True), Gone)


def test_a_release_of_before_the_state_file_was_made_anew_changes_no_relay_of_the_new_one(
    path: Path, relay: MakeRelay
) -> None:
    claim, holder, queued, waiter = relay()
    holder.queue("it")
    path.unlink()
    _, newcomer, _, second = relay()
    assert not holder.engine.release(claim)
    assert isinstance(waiter.engine.wait(queued, 0.1), Gone)
    assert holders_and_waiters(newcomer) == ([newcomer.holder.id], [second.holder.id])


def test_after_the_gate_was_deleted_under_a_relay_nobody_holds_anything(
    path: Path, user: MakeUser, relay: MakeRelay, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim, holder, _, _ = relay()
    path.with_name("locks.db-gate").unlink()
    monkeypatch.setattr(gate, "wall_us", lambda: 1)
    with pytest.warns(FencepostWarning, match="was orphaned: all leases are gone"):
        newcomer = user()
    assert newcomer.token("it") > claim.token
    assert not holder.engine.lease_renew(holder.holder, 30.0, (claim,)).alive


def test_one_stopped_inside_a_gate_that_is_moved_grants_nothing_in_its_relays(
    path: Path, user: MakeUser, relay: MakeRelay, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim, holder, queued, waiter = relay()
    track = holder.engine._store.tracks.relay_of("it")
    assert track is not None
    pass_on, letters, seen = track.pass_on, list[object](), list[int]()

    def move_the_gate(token: int, now: float) -> object:
        letters.append(pass_on(token, now))
        path.with_name("locks.db-gate").rename(path.with_name("moved"))
        with pytest.warns(FencepostWarning, match="was orphaned"):
            seen.append(user().token("it"))
        return letters[-1]

    monkeypatch.setattr(track, "pass_on", move_the_gate)
    assert not holder.engine.release(claim)
    assert letters[0]
    assert isinstance(waiter.engine.wait(queued, AT_ONCE), Gone)
    holder.renew_holder()
    assert isinstance(holder.engine.claim(holder.request("it"), wait=False), Busy)


def test_a_queue_moves_to_no_relay_of_a_gate_that_is_moved_meanwhile(
    path: Path, user: MakeUser, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two, three = user(), user(), user()
    first = one.hold("it")
    second, third = two.queue("it"), three.queue("it")
    to_relay, seen = one.engine._queue.transfer._to_relay, list[int]()

    def move_the_gate(*args: Any) -> None:
        path.with_name("locks.db-gate").rename(path.with_name("moved"))
        seen.append(user().token("other"))
        to_relay(*args)

    monkeypatch.setattr(one.engine._queue.transfer, "_to_relay", move_the_gate)
    one.engine.release(first)
    assert holders_and_waiters(three) == ([two.holder.id], [three.holder.id])
    assert two.engine.release(granted(two, second))
    assert granted(three, third).token > seen[0]


def test_relays_of_another_boot_are_gone(
    path: Path, user: MakeUser, relay: MakeRelay, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    claim, *_ = relay()
    other_boot = tmp_path / "boot_id"
    other_boot.write_text("11111111-2222-3333-4444-555555555555\n")
    monkeypatch.setattr(gate, "BOOT_ID", other_boot)
    assert user().token("it") > claim.token


def test_a_holder_killed_in_a_relay_is_passed_over(child: StartChild, user: MakeUser) -> None:
    one, two = user(), user()
    first = one.hold("it")
    killed = child("wait")
    assert killed.hears() == ["queued"]
    queued = two.queue("it")
    assert one.engine.release(first)
    assert in_relay(one)
    token = int(killed.hears()[1])
    killed.process.kill()
    killed_at = time.monotonic()
    answer: object = queued
    while isinstance(answer, Queued):
        answer = two.engine.wait(answer, 60.0)
    assert isinstance(answer, Granted)
    assert answer.tokens[0] > token
    assert time.monotonic() - killed_at < AT_ONCE


def test_threads_of_one_engine_hand_a_name_around_in_a_relay(user: MakeUser, relay: MakeRelay) -> None:
    claim, holder, queued, waiter = relay()
    waiter.engine.withdraw(queued.request)
    holder.engine.release(claim)
    tokens: list[int] = []

    def work() -> None:
        for _ in range(50):
            request = holder.request("it")
            answer: object = holder.engine.claim(request, wait=True)
            while isinstance(answer, Queued):
                answer = holder.engine.wait(answer, 10.0)
            assert isinstance(answer, Granted)
            tokens.append(answer.tokens[0])
            assert holder.engine.release(Claim(holder.holder, request.serial, request.asks[0], answer.tokens[0]))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30.0)
    assert len(tokens) == 200
    assert tokens == sorted(set(tokens))
