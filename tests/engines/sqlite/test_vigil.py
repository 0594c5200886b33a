"""Whoever comes after the next is called, and stays awake for a moment: for its letter, and not for longer."""

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from fencepost._runtime import aio
from fencepost.contract.answer import Queued
from fencepost.core.claim import Claim
from fencepost.core.url import Url
from fencepost.engines.sqlite import relay, transfer, vigil
from fencepost.engines.sqlite._async.engine import AsyncEngine
from fencepost.engines.sqlite._sync import room
from fencepost.engines.sqlite.gate import Occupied
from fencepost.engines.sqlite.mailbox import SOON, read
from fencepost.engines.sqlite.vigil import FEW, LOOKS, MOST, WORTH, Vigil, runnable
from fencepost.testing.condition import until
from tests.engines.sqlite.conftest import MakeUser
from tests.support.claim import GrantedClaim
from tests.support.sqlite.user import User

LONG = 60.0


@pytest.fixture(autouse=True)
def a_quick_pace_on_a_quiet_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfer, "QUICK", float("inf"))
    monkeypatch.setattr(relay, "QUICK", float("inf"))
    monkeypatch.setattr(vigil, "runnable", lambda: 1)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})


class Line(NamedTuple):
    """A relay: who holds the name, its claim, who is next, and one who may have been called when the holder lets go."""

    holder: User
    claim: GrantedClaim
    heir: User
    inherits: Queued
    third: User
    waits: Queued

    def let_go(self) -> None:
        assert self.holder.engine.release(self.claim)


@pytest.fixture
def line(user: MakeUser) -> Callable[[], Line]:
    def make() -> Line:
        one, two, three = user(), user(), user()
        first = one.hold("it")
        second, third = two.queue("it"), three.queue("it")
        assert one.engine.release(first)
        again = one.queue("it")
        assert two.engine.release(granted(two, second))
        held = granted(three, third)
        return Line(three, held, one, again, two, two.queue("it"))

    return make


def granted(user: User, queued: Queued) -> GrantedClaim:
    return user.granted(queued)


def mail(user: User) -> list[tuple[int, ...]]:
    """The tokens of the letters in the box."""
    return [read(text)[1] for text in iter(user.engine._mailbox.take, None)]


def test_whoever_comes_after_the_next_is_called_and_nobody_else(line: Callable[[], Line]) -> None:
    scene = line()
    fourth = scene.holder.queue("it")
    scene.let_go()
    assert mail(scene.third) == [SOON]
    assert mail(scene.holder) == []
    ((token,),) = mail(scene.heir)
    claim = Claim(scene.heir.holder, scene.inherits.request.serial, scene.inherits.request.asks[0], token)
    assert scene.heir.engine.release(claim)
    assert mail(scene.holder) == [SOON]
    assert isinstance(fourth, Queued)


def test_a_lock_that_was_held_for_longer_calls_nobody(
    line: Callable[[], Line], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relay, "QUICK", 0.0)
    scene = line()
    scene.let_go()
    assert mail(scene.third) == []


def test_on_a_busy_host_nobody_is_called(line: Callable[[], Line], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vigil, "runnable", lambda: 1_000)
    scene = line()
    scene.let_go()
    assert mail(scene.third) == []


def test_one_of_several_that_wait_in_one_engine_is_not_called(line: Callable[[], Line]) -> None:
    scene = line()
    beside = scene.third.queue("it")
    scene.let_go()
    assert scene.heir.engine.release(granted(scene.heir, scene.inherits))
    # Its first place was taken while nobody else waited there.
    assert mail(scene.third).count(SOON) == 1
    assert isinstance(beside, Queued)


def test_a_called_waiter_is_awake_when_its_letter_comes(
    line: Callable[[], Line], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "AWAKE", LONG)
    scene = line()
    ends: list[bool] = []
    monkeypatch.setattr(scene.third.engine._room._vigil, "end", lambda *, in_vain: ends.append(in_vain))
    scene.let_go()
    held = granted(scene.heir, scene.inherits)
    served: list[GrantedClaim] = []
    thread = threading.Thread(target=lambda: served.append(granted(scene.third, scene.waits)))
    thread.start()
    began_at = time.monotonic()
    assert scene.heir.engine.release(held)
    thread.join(LONG)
    assert time.monotonic() - began_at < LONG / 2
    assert served[0].token > held.token
    assert ends == [False]


def test_a_waiter_that_was_called_in_vain_sleeps_and_is_served_later(line: Callable[[], Line]) -> None:
    scene = line()
    scene.let_go()
    third, used = scene.third.engine, time.thread_time()
    until(lambda: isinstance(third.wait(scene.waits, 0.2), Queued) and third._room._vigil._vain == 1)
    began_at = time.monotonic()
    assert isinstance(third.wait(scene.waits, 0.2), Queued)
    assert time.monotonic() - began_at >= 0.2
    assert time.thread_time() - used < 0.1
    held = granted(scene.heir, scene.inherits)
    assert scene.heir.engine.release(held)
    assert granted(scene.third, scene.waits).token > held.token


def test_one_that_is_gone_when_it_is_called_is_buried_at_once(line: Callable[[], Line]) -> None:
    scene = line()
    scene.third.engine._mailbox.inbox.close()
    scene.let_go()
    snapshot = scene.heir.engine.look("it")
    assert [each.claim.holder for each in snapshot.holders] == [scene.heir.holder]
    assert snapshot.waiters == ()


def test_a_gate_that_is_shut_for_a_moment_sends_nobody_the_long_way(
    line: Callable[[], Line], monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = line()
    scene.let_go()
    assert scene.heir.engine.release(granted(scene.heir, scene.inherits))
    held = granted(scene.third, scene.waits)
    store = scene.third.engine._store
    alone, busy = store.gate.alone, [True, True]

    def soon_alone(work: Callable[..., object], *args: object) -> object:
        if busy:
            busy.pop()
            raise Occupied
        return alone(work, *args)

    with monkeypatch.context() as patch:
        patch.setattr(store, "run", lambda *_: pytest.fail("took the long way"))
        patch.setattr(store.gate, "alone", soon_alone)
        assert scene.third.engine.release(held)
    assert not busy


@pytest.mark.unit
def test_nobody_stays_awake_on_the_only_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Vigil(able=True).is_wanted()
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})
    assert not Vigil(able=True).is_wanted()


def test_a_loop_stays_awake_for_nobody(path: Path) -> None:
    engine = AsyncEngine(Url("sqlite", path=str(path)), clock=aio.BootClock(), patience=5.0)
    assert not engine._lane._vigil.is_wanted()
    engine._room.close()


@pytest.mark.unit
def test_vigils_in_vain_become_rare_and_useful_ones_bring_them_back() -> None:
    one = Vigil(able=True)
    for _ in range(FEW):
        one.end(in_vain=True)
        assert one.is_wanted()
    rests = []
    for _ in range(MOST):
        one.end(in_vain=True)
        rests.append(_claims_until_wanted(one))
    assert rests[:2] == [2, 4]
    assert max(rests) == 2 ** (MOST - FEW)
    for _ in range(MOST // WORTH):
        one.end(in_vain=False)
    for _ in range(FEW):
        one.end(in_vain=True)
    assert one.is_wanted()


@pytest.mark.unit
def test_a_busy_host_is_looked_at_again_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = iter([1_000, 1, 1_000])
    monkeypatch.setattr(vigil, "runnable", lambda: next(looks))
    one = Vigil(able=True)
    assert [one.is_wanted() for _ in range(2 * LOOKS + 2)] == [False] * (LOOKS + 1) + [True] * LOOKS + [False]


@pytest.mark.unit
def test_how_many_want_to_run_is_what_the_kernel_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert runnable() >= 1
    load = tmp_path / "loadavg"
    monkeypatch.setattr(vigil, "LOAD", str(load))
    assert runnable() == 0
    load.write_text("0.20 0.18 0.12 7/80 11206\n")
    assert runnable() == 7
    load.write_text("who knows\n")
    assert runnable() == 0


def _claims_until_wanted(one: Vigil) -> int:
    count = 0
    while not one.is_wanted():
        count += 1
    return count
