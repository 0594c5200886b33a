"""An exception out of a signal handler, at each point of an engine's call where the interpreter takes signals."""

import itertools
import threading
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import Any, Protocol

from fencepost.contract.answer import Granted, Queued
from fencepost.core.claim import Ask, Claim, Mode, Request
from fencepost.core.holder import Holder
from fencepost.errors import Unavailable
from fencepost.testing.contract.interruption.point import KINDS, Points, Stop

__all__ = ["ACTS", "Stop", "every_point", "interrupt_at"]
# Leases are 60 s, and so long do those wait whom nobody tells.
TTL = 60.0
AT_ONCE = 20.0
_number = itertools.count(1)


class _Points(Points):
    """Those of the tests themselves are none."""

    def wants(self, frame: FrameType, what: str) -> bool:
        return super().wants(frame, what) and not frame.f_globals.get("__name__", "").startswith("tests.")


def interrupt_at(point: int, work: Callable[[], object], kind: type[BaseException] = Stop) -> str | None:
    """Run `work`, interrupted at its point of that number: where that was, or None if it has fewer."""
    points = _Points(point, kind)
    try:
        with points:
            work()
    except kind:
        assert points.where is not None
    return points.where


class Party:
    """One lease at one engine."""

    def __init__(self, engine: Any) -> None:
        self.engine = engine
        self.holder = Holder(f"{next(_number):024x}", "party")
        engine.lease_open(self.holder, TTL)

    def request(self, ask: Ask) -> Request:
        return Request(self.holder, next(_number), (ask,))

    def hold(self, ask: Ask) -> Claim:
        request = self.request(ask)
        answer = self.engine.claim(request, wait=False)
        assert isinstance(answer, Granted), answer
        return self.claim(request, answer)

    def queue(self, ask: Ask) -> Queued:
        answer = self.engine.claim(self.request(ask), wait=True)
        assert isinstance(answer, Queued), answer
        return answer

    def claim(self, request: Request, answer: Granted) -> Claim:
        return Claim(self.holder, request.serial, request.asks[0], answer.tokens[0])


class Waiter(threading.Thread):
    """Waits in a thread of its own, as no signal handler runs there."""

    def __init__(self, party: Party, queued: Queued) -> None:
        super().__init__(daemon=True)
        self.party, self.queued = party, queued
        self.answer: Any = queued
        self._ask: Callable[[], Any] = lambda: party.engine.wait(queued, TTL)
        self.start()

    def run(self) -> None:
        while isinstance(self.answer, Queued):
            # As a session does.
            try:
                self.answer = self._ask()
            except Unavailable:
                self._ask = lambda: self.party.engine.claim(self.queued.request, wait=True)
            else:
                self._ask = lambda: self.party.engine.wait(self.answer, TTL)

    def served(self) -> Claim:
        self.join(AT_ONCE)
        assert isinstance(self.answer, Granted), f"{self.answer}, and waits still: {self.is_alive()}"
        return self.party.claim(self.queued.request, self.answer)


class Scene:
    """Whoever acts, and is interrupted; who waits for what it has; and a bystander."""

    def __init__(self, make: Callable[[], Any], name: str) -> None:
        self.ask = Ask(name)
        self.actor, self.other, self.bystander = (Party(make()) for _ in range(3))

    def close(self) -> None:
        for party in (self.actor, self.other, self.bystander):
            party.engine.lease_close(party.holder)
            party.engine.close()


class Act(Protocol):
    """Sets the scene, and says what is done, how a session settles it if it is interrupted, and who is served then."""

    def __call__(self, scene: Scene) -> tuple[Callable[[], object], Callable[[], object], Waiter | None]: ...


def claiming(scene: Scene) -> Any:
    request = scene.actor.request(scene.ask)
    engine = scene.actor.engine
    return lambda: engine.claim(request, wait=True), lambda: engine.withdraw(request), None


def standing_in_line(scene: Scene) -> Any:
    held = scene.bystander.hold(scene.ask)
    request, engine = scene.actor.request(scene.ask), scene.actor.engine

    def settle() -> None:
        engine.withdraw(request)
        assert scene.bystander.engine.look(scene.ask.name).waiters == ()
        assert scene.bystander.engine.release(held)

    return lambda: engine.claim(request, wait=True), settle, None


def releasing(scene: Scene) -> Any:
    held = scene.actor.hold(scene.ask)
    waiter = Waiter(scene.other, scene.other.queue(scene.ask))
    engine = scene.actor.engine
    return lambda: engine.release(held), lambda: engine.release(held), waiter


def withdrawing(scene: Scene) -> Any:
    held = scene.bystander.hold(scene.ask)
    queued, engine = scene.actor.queue(scene.ask), scene.actor.engine
    waiter = Waiter(scene.other, scene.other.queue(scene.ask))

    def settle() -> None:
        engine.withdraw(queued.request)
        assert scene.bystander.engine.release(held)

    return lambda: engine.withdraw(queued.request), settle, waiter


def waiting(scene: Scene) -> Any:
    """While another thread of the same engine waits as well, and may be served by whoever is interrupted."""
    held, also = scene.bystander.hold(scene.ask), scene.bystander.hold(Ask(f"{scene.ask.name} too"))
    queued, engine = scene.actor.queue(scene.ask), scene.actor.engine
    beside = scene.actor.queue(also.ask)
    assert scene.bystander.engine.release(held)
    assert scene.bystander.engine.release(also)
    waiter = Waiter(scene.other, scene.other.queue(scene.ask))

    def settle() -> None:
        engine.withdraw(queued.request)
        assert scene.actor.engine.release(Waiter(scene.actor, beside).served())

    return lambda: engine.wait(queued, AT_ONCE), settle, waiter


def sharing(scene: Scene) -> Any:
    held = scene.actor.hold(scene.ask)
    waiter = Waiter(scene.other, scene.other.queue(scene.ask._replace(mode=Mode.SHARED)))
    engine = scene.actor.engine

    def settle() -> None:
        assert engine.share(held)
        waiter.join(AT_ONCE)
        assert engine.release(held)

    return lambda: engine.share(held), settle, waiter


def evicting(scene: Scene) -> Any:
    held = scene.bystander.hold(scene.ask)
    waiter = Waiter(scene.other, scene.other.queue(scene.ask))
    engine = scene.actor.engine

    def settle() -> None:
        if held in [standing.claim for standing in engine.look(scene.ask.name).holders]:
            engine.evict(scene.ask.name, "operator")

    return lambda: engine.evict(scene.ask.name, "operator"), settle, waiter


def closing_the_lease(scene: Scene) -> Any:
    scene.actor.hold(scene.ask)
    waiter = Waiter(scene.other, scene.other.queue(scene.ask))
    engine, holder = scene.actor.engine, scene.actor.holder

    def settle() -> None:
        with suppress(Unavailable):
            engine.lease_close(holder)
        engine.lease_open(holder, TTL)

    return lambda: engine.lease_close(holder), settle, waiter


def renewing(scene: Scene) -> Any:
    engine, holder = scene.actor.engine, scene.actor.holder
    return lambda: engine.lease_renew(holder, TTL, ()), lambda: engine.lease_renew(holder, TTL, ()), None


ACTS = (
    claiming, standing_in_line, releasing, withdrawing, waiting, sharing, evicting, closing_the_lease, renewing,
)  # fmt: skip


def every_point(
    make: Callable[[], Any], act: Act, locked: Callable[[Any], bool] = lambda engine: False, *, stride: int = 1
) -> int:
    """Interrupt the act at each of its points, settle it, and see that everybody is served. How many there were.

    `locked` says whether an engine that nobody is in keeps something locked. With a `stride`, not at each.
    """
    for turn, point in enumerate(itertools.count(step=stride)):
        scene = Scene(make, f"it {point}")
        do, settle, waiter = act(scene)
        where = interrupt_at(point, do, KINDS[turn % 2])
        # Before anything else, which would wait for ever.
        assert not locked(scene.actor.engine), f"locked after {where}"
        try:
            settle()
            if waiter is not None:
                assert waiter.party.engine.release(waiter.served())
            for party in (scene.bystander, scene.actor):
                assert party.engine.release(party.hold(scene.ask))
            snapshot = scene.bystander.engine.look(scene.ask.name)
            assert snapshot.holders == snapshot.waiters == ()
        except BaseException as error:
            error.add_note(f"after {where}")
            raise
        scene.close()
        if where is None:
            return point
    raise AssertionError
