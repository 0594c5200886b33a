"""The engines that need no server, compared with the model; and that the comparison finds what is wrong."""

import itertools
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings

from fencepost.contract import registry
from fencepost.contract.answer import Granted
from fencepost.core.claim import Claim, Request
from fencepost.core.holder import Holder
from fencepost.core.url import parse_url
from fencepost.testing import async_engine_machine, engine_machine, run_engine_machine

THOROUGH = settings(max_examples=25, stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck))
QUICK = settings(THOROUGH, max_examples=300, phases=[Phase.generate], database=None)
EVER_HIGHER = itertools.count(1)
Memory: Any = registry.engine("memory")


@pytest.fixture
def folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="fencepost-"))
    yield folder
    shutil.rmtree(folder)


def url(scheme: str, folder: Path, store: str) -> str:
    return f"memory://{store}" if scheme == "memory" else f"{scheme}://{folder / store}.db"


@pytest.mark.storm
@pytest.mark.parametrize("scheme", ["memory", "sqlite"])
def test_the_engine_agrees_with_the_model(scheme: str, folder: Path) -> None:
    kind = registry.engine(scheme)
    machine = engine_machine(lambda store, clock: kind(parse_url(url(scheme, folder, store)), clock=clock, patience=5))
    run_engine_machine(machine, settings=THOROUGH)


@pytest.mark.storm
@pytest.mark.parametrize("scheme", ["memory", "sqlite"])
def test_the_asynchronous_engine_agrees_with_the_model(scheme: str, folder: Path) -> None:
    kind = registry.async_engine(scheme)
    machine = async_engine_machine(
        lambda store, clock: kind(parse_url(url(scheme, folder, store)), clock=clock, patience=5)
    )
    run_engine_machine(machine, settings=THOROUGH)


def test_an_engine_with_a_clock_of_its_own_is_watched_without_expiry() -> None:
    machine = engine_machine(
        lambda store, clock: Memory(parse_url(f"memory://{store}"), clock=clock, patience=5), virtual_time=False
    )
    run_engine_machine(machine, settings=settings(QUICK, max_examples=20))


def test_a_run_that_met_too_little_fails_and_says_what_it_met(capsys: pytest.CaptureFixture[str]) -> None:
    machine = engine_machine(lambda store, clock: Memory(parse_url(f"memory://{store}"), clock=clock, patience=5))
    with pytest.raises(AssertionError, match=r"too little was met .*: \d of 10 granted, .* 0 of 2 handed"):
        run_engine_machine(machine, settings=settings(QUICK, max_examples=1, stateful_step_count=3))
    assert re.match(r"met (\d+ [a-z ]+(, )?)*\n", capsys.readouterr().out)


def test_its_test_case_fails_in_the_same_way() -> None:
    machine = engine_machine(lambda store, clock: Memory(parse_url(f"memory://{store}"), clock=clock, patience=5))
    case = machine.TestCase()
    case.settings = settings(QUICK, max_examples=1, stateful_step_count=3)  # type: ignore[misc]
    with pytest.raises(AssertionError, match="too little was met"):
        case.runTest()


class ServesTheLastFirst(Memory):  # type: ignore[misc]
    """Whoever comes goes before all who wait."""

    def claim(self, request: Request, *, wait: bool) -> Any:
        return super().claim(request._replace(priority=next(EVER_HIGHER)), wait=wait)


class ReusesTokens(Memory):  # type: ignore[misc]
    """Every grant has the same token."""

    def claim(self, request: Request, *, wait: bool) -> Any:
        self._book._mint = lambda: 7
        return super().claim(request, wait=wait)


class AnswersAnew(Memory):  # type: ignore[misc]
    """Asked again, it answers with another token than it has granted."""

    def claim(self, request: Request, *, wait: bool) -> Any:
        answer = super().claim(request, wait=wait)
        again = super().claim(request, wait=wait)
        return Granted(tuple(token + 1 for token in again.tokens)) if isinstance(again, Granted) else answer


class ForgetsToWithdraw(Memory):  # type: ignore[misc]
    def withdraw(self, request: Request) -> None:
        pass


class ReleasesForOthers(Memory):  # type: ignore[misc]
    """A stale release takes the lock from whoever holds it now."""

    def release(self, claim: Claim) -> bool:
        for standing in self.look(claim.name).holders:
            super().release(standing.claim)
        return True


class NeverExpires(Memory):  # type: ignore[misc]
    def lease_open(self, holder: Holder, ttl: float) -> None:
        super().lease_open(holder, 1e9)


class ClosesNothing(Memory):  # type: ignore[misc]
    def lease_close(self, holder: Holder) -> None:
        pass


class EvictsOnlyTheFirst(Memory):  # type: ignore[misc]
    def evict(self, name: str, by: str) -> Any:
        holders = self.look(name).holders
        return tuple(each.claim for each in holders[:1] if super(EvictsOnlyTheFirst, self).release(each.claim))


@pytest.mark.parametrize(
    "wrong",
    [
        ServesTheLastFirst,
        ReusesTokens,
        AnswersAnew,
        ForgetsToWithdraw,
        ReleasesForOthers,
        NeverExpires,
        ClosesNothing,
        EvictsOnlyTheFirst,
    ],
)
def test_an_engine_that_is_wrong_is_found_out(wrong: Any) -> None:
    machine = engine_machine(lambda store, clock: wrong(parse_url(f"memory://{store}"), clock=clock, patience=5))
    with pytest.raises(AssertionError):
        run_engine_machine(machine, settings=QUICK)
