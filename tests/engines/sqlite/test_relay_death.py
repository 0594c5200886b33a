"""A process killed at any step of what it does with a relay: whoever stood in line is served, in order, once."""

import itertools
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from fencepost.contract.answer import Granted, Queued
from fencepost.core.claim import Claim
from fencepost.engines.sqlite import transfer
from tests.engines.sqlite.conftest import MakeUser
from tests.support.sqlite.user import User

Act = Callable[[User, Claim | None], object]


class Fuse:
    """The gate's words, for a process that dies before its writing number `steps`, counting statements as well."""

    def __init__(self, user: User, steps: int) -> None:
        store = user.engine._store
        self._left = itertools.count(steps, -1)
        self._words, store.gate.words = store.gate.words, cast("memoryview[int]", self)
        self._execute, store.execute = store.execute, self.execute

    def __getitem__(self, at: int) -> int:
        return self._words[at]

    def __setitem__(self, at: int, value: int) -> None:
        self._burn()
        self._words[at] = value

    def execute(self, *args: Any) -> Any:
        self._burn()
        return self._execute(*args)

    def _burn(self) -> None:
        if next(self._left) <= 0:
            os.kill(os.getpid(), signal.SIGKILL)


class Mortal:
    """A forked process with an engine of its own. It stands in line for the name; told to, it does what kills it."""

    def __init__(self, path: Path, act: Act, steps: int, *, stays: bool) -> None:
        tell, self._hear = os.pipe()[::-1]
        self._wait, self._tell = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                self._live(path, act, steps, stays, tell)
                os._exit(0)
            except BaseException:
                os._exit(1)
        os.close(tell)

    def _live(self, path: Path, act: Act, steps: int, stays: bool, tell: int) -> None:
        user = User(path)
        answer: object = user.engine.claim(user.request("it"), wait=True)
        claim = None
        if isinstance(answer, Queued) and not stays:
            user.engine.withdraw(answer.request)
        os.write(tell, b"x")
        if stays:
            request = answer.request if isinstance(answer, Queued) else None
            while isinstance(answer, Queued):
                answer = user.engine.wait(answer, 10.0)
            assert isinstance(answer, Granted)
            if request is not None:
                claim = Claim(user.holder, request.serial, request.asks[0], answer.tokens[0])
            else:
                (standing,) = user.engine.look("it").holders
                claim = standing.claim
            os.write(tell, b"x")
        os.read(self._wait, 1)
        Fuse(user, steps)
        act(user, claim)

    def hears(self) -> None:
        assert os.read(self._hear, 1) == b"x"

    def dies(self) -> bool:
        """Whether it was killed; False if it did what it had to do in fewer steps."""
        os.write(self._tell, b"x")
        code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        for fd in (self._hear, self._wait, self._tell):
            os.close(fd)
        assert code in (0, -signal.SIGKILL)
        return code != 0


def release(user: User, claim: Claim | None) -> None:
    assert claim is not None
    user.engine.release(claim)


def look(user: User, _: Claim | None) -> None:
    user.engine.look("it")


def join(user: User, _: Claim | None) -> None:
    user.engine.claim(user.request("it"), wait=True)


def stop_using_it(user: User, _: Claim | None) -> None:
    user.engine.lease_close(user.holder)


def serve(queue: list[tuple[User, Queued]], token: int, *, looks: bool = True) -> None:
    """All of them get the name in this order, each alone.

    Unless somebody looks, each is done with it before anybody has buried the dead.
    """
    for user, queued in queue:
        answer: object = queued
        while isinstance(answer, Queued):
            answer = user.engine.wait(answer, 10.0)
        assert isinstance(answer, Granted)
        assert answer.tokens[0] > token
        (token,) = answer.tokens
        claim = Claim(user.holder, queued.request.serial, queued.request.asks[0], token)
        if looks:
            (standing,) = queue[0][0].engine.look("it").holders
            assert standing.claim == claim
        assert user.engine.release(claim)
    snapshot = queue[0][0].engine.look("it")
    assert snapshot.holders == snapshot.waiters == ()


@pytest.fixture(autouse=True)
def every_pace_is_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfer, "QUICK", float("inf"))


@pytest.mark.parametrize("act", [release, look, stop_using_it])
@pytest.mark.parametrize("in_relay", [True, False])
@pytest.mark.parametrize("looks", [True, False])
def test_a_holder_killed_at_any_step_is_followed_by_whoever_is_next(
    path: Path, user: MakeUser, act: Act, in_relay: bool, looks: bool
) -> None:
    for steps in range(100):
        one, two, three = user(), user(), user()
        first = one.hold("it") if in_relay else None
        mortal = Mortal(path, act, steps, stays=True)
        mortal.hears()
        if first is None:
            mortal.hears()
        queue = [(each, each.queue("it")) for each in (two, three)]
        if first is not None:
            assert one.engine.release(first)
            assert one.engine._store.tracks.relay_of("it")
            mortal.hears()
        killed = mortal.dies()
        serve(queue, first.token if first else 0, looks=looks)
        if not killed:
            break
    assert 1 < steps < 100


def test_one_who_is_killed_at_any_step_of_joining_a_relay_takes_nothing(path: Path, user: MakeUser) -> None:
    for steps in range(100):
        one, two, three = user(), user(), user()
        first = one.hold("it")
        mortal = Mortal(path, join, steps, stays=False)
        mortal.hears()
        queue = [(each, each.queue("it")) for each in (two, three)]
        assert one.engine.release(first)
        killed = mortal.dies()
        serve(queue, first.token)
        if not killed:
            break
    assert 0 < steps < 100
