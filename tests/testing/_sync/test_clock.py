# Generated from tests/testing/_async/test_clock.py by tools/unasync.py. Do not edit: run `make gen`.
"""The virtual clock by itself."""

import pytest

from fencepost._runtime import threads as runtime
from fencepost.testing._sync.clock import VirtualClock
from fencepost.testing._sync.lane import Sleeper
from fencepost.testing.contract._sync.attempt import Attempt, until

pytestmark = pytest.mark.unit
# Those who are woken come back, on a busy machine too: time waits for them.
PATIENT = 20.0


def asleep(clock: VirtualClock, count: int) -> None:
    def enough() -> bool:
        return len(clock._sleepers) == count

    until(enough)


def test_a_wait_ends_when_its_event_is_set_and_no_time_passes() -> None:
    clock, event = VirtualClock(), runtime.Event()
    began_at = clock.now()
    attempt = Attempt(lambda: clock.wait(event, clock.now() + 5))
    asleep(clock, 1)
    event.set()
    assert attempt.outcome() is True
    assert clock.now() == began_at


def test_a_wait_ends_at_its_time_and_not_before() -> None:
    clock, event = VirtualClock(), runtime.Event()
    attempt = Attempt(lambda: clock.wait(event, clock.now() + 5))
    asleep(clock, 1)
    clock.advance(4.999)
    assert not attempt.ended.is_set()
    clock.advance(0.001)
    assert attempt.outcome() is False


def test_a_passed_deadline_sets_no_event_and_wakes_nobody_else() -> None:
    clock, event = VirtualClock(), runtime.Event()
    soon = Attempt(lambda: clock.wait(event, clock.now() + 1))
    late = Attempt(lambda: clock.wait(event, clock.now() + 9))
    real = Attempt(lambda: event.wait(20))
    asleep(clock, 2)
    clock.advance(5)
    assert soon.outcome() is False
    assert not event.is_set()
    assert not late.ended.is_set()
    assert not real.ended.is_set()
    event.set()
    assert (late.outcome(), real.outcome()) == (True, True)


def test_alarms_ring_in_the_order_of_their_times_each_at_its_own() -> None:
    clock = VirtualClock()
    began_at = clock.now()
    rung: list[tuple[str, float]] = []
    clock.alarm(began_at + 3, lambda: rung.append(("three", clock.now() - began_at)))
    clock.alarm(began_at + 1, lambda: rung.append(("one", clock.now() - began_at)))
    clock.alarm(began_at + 2, lambda: rung.append(("never", clock.now() - began_at))).cancel()
    clock.alarm(began_at + 1, lambda: rung.append(("one again", clock.now() - began_at)))
    clock.advance(2)
    assert rung == [("one", 1), ("one again", 1)]
    clock.advance(2)
    assert rung[2:] == [("three", 3)]


def test_an_alarm_set_by_an_alarm_rings_in_the_same_advance() -> None:
    clock = VirtualClock()
    rung: list[float] = []

    def ring() -> None:
        rung.append(clock.now())
        clock.alarm(clock.now() + 1, ring)

    clock.alarm(clock.now() + 1, ring)
    clock.advance(5)
    assert len(rung) == 5


def test_whoever_is_woken_waits_again_before_time_moves_on() -> None:
    clock, stop = VirtualClock(grace=PATIENT), runtime.Event()
    began_at = clock.now()
    seen: list[float] = []

    def tick() -> None:
        while not clock.wait(stop, clock.now() + 1):
            # Others run first, for as long as they like: it is this worker's turn all the same.
            for _ in range(50):
                runtime.sleep(0)
            seen.append(clock.now() - began_at)

    attempt = Attempt(tick)
    asleep(clock, 1)
    clock.advance(20)
    assert seen == [float(second) for second in range(1, 21)]
    stop.set()
    attempt.outcome()


def test_whoever_is_slow_to_wake_has_its_turn_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, event = VirtualClock(grace=PATIENT), runtime.Event()
    sleep = Sleeper.sleep

    def sleep_longer(sleeper: Sleeper) -> None:
        sleep(sleeper)
        runtime.sleep(0.02)

    def note() -> float:
        clock.wait(event, clock.now() + 100)
        return clock.now()

    monkeypatch.setattr(Sleeper, "sleep", sleep_longer)
    attempt = Attempt(note)
    asleep(clock, 1)
    began_at = clock.now()
    clock.alarm(began_at + 1, event.set)
    clock.advance(50)
    assert attempt.outcome() == began_at + 1


def test_code_that_waits_for_something_else_does_not_stop_time() -> None:
    clock, door = VirtualClock(grace=0.02), runtime.Event()

    def leave() -> None:
        clock.wait(runtime.Event(), clock.now() + 1)
        door.wait()

    attempt = Attempt(leave)
    asleep(clock, 1)
    began_at = clock.now()
    clock.advance(10)
    assert clock.now() == began_at + 10
    door.set()
    attempt.outcome()


def test_a_keeper_that_does_not_come_back_is_an_error() -> None:
    clock, door = VirtualClock(patience=0.05), runtime.Event()

    def leave() -> None:
        clock.wait(runtime.Event(), clock.now() + 1)
        door.wait()

    worker = runtime.spawn(leave, name="fencepost-keeper-stuck")
    asleep(clock, 1)
    with pytest.raises(RuntimeError, match=r"did not wait again in 0\.05 s"):
        clock.advance(10)
    door.set()
    worker.join(20)


def test_time_does_not_go_back() -> None:
    with pytest.raises(ValueError, match="must not be negative"):
        VirtualClock().advance(-1)
