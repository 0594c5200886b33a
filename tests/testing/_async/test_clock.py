# Written by hand; the blocking twin under _sync is generated from it.
"""The virtual clock by itself."""

import pytest

from fencepost._runtime import aio as runtime
from fencepost.testing._async.clock import AsyncVirtualClock
from fencepost.testing._async.lane import AsyncSleeper
from fencepost.testing.contract._async.attempt import AsyncAttempt, until

pytestmark = pytest.mark.unit
# Those who are woken come back, on a busy machine too: time waits for them.
PATIENT = 20.0


async def asleep(clock: AsyncVirtualClock, count: int) -> None:
    async def enough() -> bool:
        return len(clock._sleepers) == count

    await until(enough)


async def test_a_wait_ends_when_its_event_is_set_and_no_time_passes() -> None:
    clock, event = AsyncVirtualClock(), runtime.Event()
    began_at = clock.now()
    attempt = AsyncAttempt(lambda: clock.wait(event, clock.now() + 5))
    await asleep(clock, 1)
    event.set()
    assert await attempt.outcome() is True
    assert clock.now() == began_at


async def test_a_wait_ends_at_its_time_and_not_before() -> None:
    clock, event = AsyncVirtualClock(), runtime.Event()
    attempt = AsyncAttempt(lambda: clock.wait(event, clock.now() + 5))
    await asleep(clock, 1)
    await clock.advance(4.999)
    assert not attempt.ended.is_set()
    await clock.advance(0.001)
    assert await attempt.outcome() is False


async def test_a_passed_deadline_sets_no_event_and_wakes_nobody_else() -> None:
    clock, event = AsyncVirtualClock(), runtime.Event()
    soon = AsyncAttempt(lambda: clock.wait(event, clock.now() + 1))
    late = AsyncAttempt(lambda: clock.wait(event, clock.now() + 9))
    real = AsyncAttempt(lambda: event.wait(20))
    await asleep(clock, 2)
    await clock.advance(5)
    assert await soon.outcome() is False
    assert not event.is_set()
    assert not late.ended.is_set()
    assert not real.ended.is_set()
    event.set()
    assert (await late.outcome(), await real.outcome()) == (True, True)


async def test_alarms_ring_in_the_order_of_their_times_each_at_its_own() -> None:
    clock = AsyncVirtualClock()
    began_at = clock.now()
    rung: list[tuple[str, float]] = []
    clock.alarm(began_at + 3, lambda: rung.append(("three", clock.now() - began_at)))
    clock.alarm(began_at + 1, lambda: rung.append(("one", clock.now() - began_at)))
    clock.alarm(began_at + 2, lambda: rung.append(("never", clock.now() - began_at))).cancel()
    clock.alarm(began_at + 1, lambda: rung.append(("one again", clock.now() - began_at)))
    await clock.advance(2)
    assert rung == [("one", 1), ("one again", 1)]
    await clock.advance(2)
    assert rung[2:] == [("three", 3)]


async def test_an_alarm_set_by_an_alarm_rings_in_the_same_advance() -> None:
    clock = AsyncVirtualClock()
    rung: list[float] = []

    def ring() -> None:
        rung.append(clock.now())
        clock.alarm(clock.now() + 1, ring)

    clock.alarm(clock.now() + 1, ring)
    await clock.advance(5)
    assert len(rung) == 5


async def test_whoever_is_woken_waits_again_before_time_moves_on() -> None:
    clock, stop = AsyncVirtualClock(grace=PATIENT), runtime.Event()
    began_at = clock.now()
    seen: list[float] = []

    async def tick() -> None:
        while not await clock.wait(stop, clock.now() + 1):
            # Others run first, for as long as they like: it is this worker's turn all the same.
            for _ in range(50):
                await runtime.sleep(0)
            seen.append(clock.now() - began_at)

    attempt = AsyncAttempt(tick)
    await asleep(clock, 1)
    await clock.advance(20)
    assert seen == [float(second) for second in range(1, 21)]
    stop.set()
    await attempt.outcome()


async def test_whoever_is_slow_to_wake_has_its_turn_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, event = AsyncVirtualClock(grace=PATIENT), runtime.Event()
    sleep = AsyncSleeper.sleep

    async def sleep_longer(sleeper: AsyncSleeper) -> None:
        await sleep(sleeper)
        await runtime.sleep(0.02)

    async def note() -> float:
        await clock.wait(event, clock.now() + 100)
        return clock.now()

    monkeypatch.setattr(AsyncSleeper, "sleep", sleep_longer)
    attempt = AsyncAttempt(note)
    await asleep(clock, 1)
    began_at = clock.now()
    clock.alarm(began_at + 1, event.set)
    await clock.advance(50)
    assert await attempt.outcome() == began_at + 1


async def test_code_that_waits_for_something_else_does_not_stop_time() -> None:
    clock, door = AsyncVirtualClock(grace=0.02), runtime.Event()

    async def leave() -> None:
        await clock.wait(runtime.Event(), clock.now() + 1)
        await door.wait()

    attempt = AsyncAttempt(leave)
    await asleep(clock, 1)
    began_at = clock.now()
    await clock.advance(10)
    assert clock.now() == began_at + 10
    door.set()
    await attempt.outcome()


async def test_a_keeper_that_does_not_come_back_is_an_error() -> None:
    clock, door = AsyncVirtualClock(patience=0.05), runtime.Event()

    async def leave() -> None:
        await clock.wait(runtime.Event(), clock.now() + 1)
        await door.wait()

    worker = runtime.spawn(leave, name="fencepost-keeper-stuck")
    await asleep(clock, 1)
    with pytest.raises(RuntimeError, match=r"did not wait again in 0\.05 s"):
        await clock.advance(10)
    door.set()
    await worker.join(20)


async def test_time_does_not_go_back() -> None:
    with pytest.raises(ValueError, match="must not be negative"):
        await AsyncVirtualClock().advance(-1)
