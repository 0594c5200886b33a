"""Many names and many holders at once: the work grows with their number, and not with its square.

On the embedded engine all of it happens inside the gate, where it keeps out every other session of the host.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from fencepost._runtime.threads import BootClock
from fencepost.contract.answer import Granted, Queued
from fencepost.contract.registry import engine
from fencepost.core.claim import Ask, Claim, Mode, Request
from fencepost.core.holder import Holder
from fencepost.core.url import parse_url
from fencepost.engines.sqlite.row import Row
from tests.support.steps import steps_of

FEW, TIMES = 20, 4
LASTING = 60.0
OURS, THEIRS = Holder("a" * 24, "ours"), Holder("b" * 24, "theirs")


def asks(count: int, mode: Mode = Mode.EXCLUSIVE) -> tuple[Ask, ...]:
    return tuple(Ask(f"name {number:05}", mode) for number in range(count))


def growth(steps: Callable[[int], int]) -> float:
    """By how much more the work grows than the number does: 1 if it is in proportion."""
    return steps(FEW * TIMES) / steps(FEW) / TIMES


@pytest.mark.parametrize("scheme", ["memory", "sqlite"])
def test_to_give_back_many_names_to_one_who_wants_them_all_is_no_more_work_than_they_are(
    scheme: str, tmp_path: Path
) -> None:
    def steps(count: int) -> int:
        made = engine(scheme)(parse_url(f"{scheme}://{tmp_path}/{count}"), clock=BootClock(), patience=LASTING)
        for holder in (OURS, THEIRS):
            made.lease_open(holder, LASTING)
        granted = made.claim(Request(OURS, 1, asks(count)), wait=True)
        assert isinstance(granted, Granted)
        queued = made.claim(Request(THEIRS, 1, asks(count)), wait=True)
        assert isinstance(queued, Queued)
        claims = [Claim(OURS, 1, ask, token) for ask, token in zip(asks(count), granted.tokens, strict=True)]
        found = steps_of(lambda: made.release_all(claims))
        assert isinstance(made.wait(queued, LASTING), Granted)
        made.close()
        return found

    # What is done but once pushes it below 1; with the square it would be TIMES.
    assert growth(steps) < 2


@pytest.mark.parametrize("scheme", ["memory", "sqlite"])
def test_to_claim_many_names_is_no_more_work_than_they_are(scheme: str, tmp_path: Path) -> None:
    def steps(count: int) -> int:
        made = engine(scheme)(parse_url(f"{scheme}://{tmp_path}/{count}"), clock=BootClock(), patience=LASTING)
        made.lease_open(OURS, LASTING)
        found = steps_of(lambda: made.claim(Request(OURS, 1, asks(count)), wait=True))
        made.close()
        return found

    assert growth(steps) < 2


def test_a_writer_behind_many_readers_compares_none_with_all_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared = 0

    class Compared(Claim):
        __hash__ = Claim.__hash__

        def __eq__(self, other: object) -> bool:
            nonlocal compared
            compared += 1
            return tuple(self) == other

    made = engine("sqlite")(parse_url(f"sqlite://{tmp_path}/state"), clock=BootClock(), patience=LASTING)
    made.lease_open(OURS, LASTING)
    for serial in range(1, FEW + 1):
        made.claim(Request(OURS, serial, (Ask("a", Mode.SHARED),)), wait=True)
    whole = Row.claim
    monkeypatch.setattr(Row, "claim", lambda row: Compared(*whole(row)))
    queued = made.claim(Request(OURS, FEW + 1, (Ask("a"),)), wait=True)
    assert isinstance(queued, Queued)
    assert len(queued.ahead) == FEW
    assert compared < FEW
    made.close()
