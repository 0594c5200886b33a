"""Many wait, and one of them reads for all."""

import itertools

import pytest

from fencepost._runtime.watch import Watch
from tests.support.interruption import interrupt_at
from tests.support.now import now

pytestmark = pytest.mark.unit


class Sleeper:
    def __init__(self, watch: Watch) -> None:
        self.rung = 0
        watch.present[self] = None

    def ring(self) -> None:
        self.rung += 1


def leave(watch: Watch, sleeper: Sleeper) -> None:
    watch.present.pop(sleeper, None)
    watch.ring_next()


def test_only_one_reads_at_a_time() -> None:
    watch = Watch()
    first, second = (Sleeper(watch) for _ in range(2))
    assert now(watch.is_vacant)
    assert watch.take(first)
    assert not watch.is_vacant
    assert not watch.take(second)
    watch.hand_back()
    assert watch.take(second)


def test_when_the_reader_leaves_the_next_is_rung_for() -> None:
    watch = Watch()
    reader, second, third = (Sleeper(watch) for _ in range(3))
    watch.take(reader)
    watch.hand_back()
    leave(watch, reader)
    assert (second.rung, third.rung) == (1, 0)


def test_nobody_is_rung_for_while_somebody_reads() -> None:
    watch = Watch()
    reader, second, third = (Sleeper(watch) for _ in range(3))
    watch.take(reader)
    leave(watch, second)
    assert (reader.rung, third.rung) == (0, 0)


def test_the_last_to_leave_rings_for_nobody() -> None:
    watch = Watch()
    only = Sleeper(watch)
    leave(watch, only)
    assert only.rung == 0
    assert watch.take(Sleeper(watch))


def test_a_reader_that_left_without_a_word_reads_no_more() -> None:
    watch = Watch()
    reader, second = (Sleeper(watch) for _ in range(2))
    assert watch.take(reader)
    del watch.present[reader]
    assert watch.take(second)
    assert not watch.take(Sleeper(watch))


def test_whoever_is_interrupted_anywhere_leaves_the_role_to_others() -> None:
    for point in itertools.count():
        watch = Watch()
        other, sleeper = (Sleeper(watch) for _ in range(2))

        def read(watch: Watch = watch, sleeper: Sleeper = sleeper) -> None:
            watch.present[sleeper] = None
            try:
                if watch.take(sleeper):
                    watch.hand_back()
            finally:
                watch.present.pop(sleeper, None)
                watch.ring_next()

        where = interrupt_at(point, read)
        assert watch.take(other), where
        assert list(watch.present) == [other], where
        if where is None:
            break
    assert point > 2
