"""A signal handler that raises, at any point of a call: the gate is open, nothing is locked, nobody waits for ever."""

import itertools
from pathlib import Path
from typing import Any

import pytest

from fencepost._runtime import threads
from fencepost.contract.answer import Granted
from fencepost.core.claim import Ask
from fencepost.core.url import Url
from fencepost.engines.sqlite import transfer
from fencepost.engines.sqlite._sync.engine import Engine
from tests.support.interruption import ACTS, TTL, Act, Party, Scene, Waiter, every_point, interrupt_at

pytestmark = pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning", "ignore::fencepost.FencepostWarning"
)


def at(path: object) -> Engine:
    return Engine(Url("sqlite", path=str(path)), clock=threads.BootClock(), patience=5.0)


def locked(engine: Engine) -> bool:
    return engine._mutex.locked() or engine._store.gate._inside.locked() or engine._mailbox._sending.locked()


def _in_relay(scene: Scene) -> tuple[Any, Waiter]:
    """The actor has the name, and the other is next, in a relay."""
    held = scene.bystander.hold(scene.ask)
    queued = scene.actor.queue(scene.ask)
    waiter = Waiter(scene.other, scene.other.queue(scene.ask))
    assert scene.bystander.engine.release(held)
    answer = scene.actor.engine.wait(queued, TTL)
    assert isinstance(answer, Granted)
    assert scene.actor.engine._store.tracks.relay_of(scene.ask.name)
    scene.actor.engine._lane.is_open = True
    return scene.actor.claim(queued.request, answer), waiter


def releasing_in_a_relay(scene: Scene) -> Any:
    engine = scene.actor.engine
    held, waiter = _in_relay(scene)
    return lambda: engine.release(held), lambda: engine.release(held), waiter


def joining_a_relay(scene: Scene) -> Any:
    # Known to have a mailbox, it may join.
    elsewhere = scene.bystander.hold(Ask("elsewhere"))
    scene.actor.engine.withdraw(scene.actor.queue(elsewhere.ask).request)
    assert scene.bystander.engine.release(elsewhere)
    engine, request = scene.actor.engine, scene.actor.request(scene.ask)
    held, waiter = _in_relay(scene)

    def settle() -> None:
        engine.withdraw(request)
        assert engine.release(held)

    return lambda: engine.claim(request, wait=True), settle, waiter


@pytest.mark.parametrize("act", ACTS)
def test_an_interruption_at_any_point_shuts_nobody_out(path: Path, act: Act) -> None:
    assert every_point(lambda: at(path), act, locked) > 10


@pytest.mark.parametrize("act", [releasing_in_a_relay, joining_a_relay])
def test_an_interruption_at_any_point_of_the_fast_lane_shuts_nobody_out(
    path: Path, act: Act, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transfer, "QUICK", float("inf"))
    assert every_point(lambda: at(path), act, locked) > 10


def test_an_interruption_at_any_point_of_making_the_file_leaves_one_that_works(tmp_path: Path) -> None:
    for point in itertools.count():
        path = tmp_path / str(point) / "locks.db"
        made: list[Party] = []
        engine = at(path)

        def enter(engine: Engine = engine, made: list[Party] = made) -> None:
            made.append(Party(engine))

        where = interrupt_at(point, enter)
        assert not locked(engine), where
        for party in (Party(at(path)), Party(engine)):
            assert party.engine.release(party.hold(Ask("it"))), where
            party.engine.close()
        if where is None:
            break
    assert point > 50
