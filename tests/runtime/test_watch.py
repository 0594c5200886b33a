"""Many wait, and one of them reads for all."""

import pytest

from fencepost._runtime.watch import Watch

pytestmark = pytest.mark.unit


class Sleeper:
    def __init__(self, watch: Watch) -> None:
        self.rung = 0
        watch.enter(self)

    def ring(self) -> None:
        self.rung += 1


def test_only_one_reads_at_a_time() -> None:
    watch = Watch()
    assert watch.is_vacant
    assert watch.take()
    assert not watch.is_vacant
    assert not watch.take()
    watch.hand_back()
    assert watch.take()


def test_when_the_reader_leaves_the_next_is_rung_for() -> None:
    watch = Watch()
    reader, second, third = (Sleeper(watch) for _ in range(3))
    watch.take()
    watch.hand_back()
    watch.leave(reader)
    assert (second.rung, third.rung) == (1, 0)


def test_nobody_is_rung_for_while_somebody_reads() -> None:
    watch = Watch()
    reader, second, third = (Sleeper(watch) for _ in range(3))
    watch.take()
    watch.leave(second)
    assert (reader.rung, third.rung) == (0, 0)


def test_the_last_to_leave_rings_for_nobody() -> None:
    watch = Watch()
    only = Sleeper(watch)
    watch.leave(only)
    assert only.rung == 0
    assert watch.take()
