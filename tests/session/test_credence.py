"""No grant comes of an answer that can not be one."""

import itertools
import uuid
from typing import Any

import pytest

import fencepost
from fencepost._runtime import threads
from fencepost.contract import registry
from fencepost.contract.answer import Granted
from fencepost.core.claim import Ask, Mode, Request
from fencepost.core.holder import Holder
from fencepost.core.lease import Terms
from fencepost.core.url import parse_url
from fencepost.errors import Unavailable
from fencepost.primitives._sync.session import Session
from fencepost.session.credence import MOST_NAMES, Credence

pytestmark = pytest.mark.unit
LARGEST = 2**63 - 1
HOLDER = Holder("h", "label")


def request(name: str = "a", mode: Mode = Mode.EXCLUSIVE) -> Request:
    return Request(HOLDER, 1, (Ask(name, mode),))


class Liar(registry.engine("memory")):  # type: ignore[misc]
    """An engine in memory that grants what it was told to."""

    token = 1

    def claim(self, request: Request, *, wait: bool) -> Any:
        answer = super().claim(request, wait=wait)
        return Granted((self.token,)) if isinstance(answer, Granted) else answer


@pytest.mark.parametrize("token", [0, -1, LARGEST + 1, 10**26])
def test_what_is_no_token_is_no_grant_and_nothing_is_held(token: int) -> None:
    clock = threads.BootClock()
    engine = Liar(parse_url(f"memory://{uuid.uuid4().hex}"), clock=clock, patience=5)
    with Session(engine, Terms(60), label="first", clock=clock) as session:
        engine.token = token
        with pytest.raises(Unavailable, match="is no token"):
            session.lock("a").acquire()
        assert session.look("a").holders == ()


def test_a_token_that_was_given_before_is_no_grant() -> None:
    clock = threads.BootClock()
    engine = Liar(parse_url(f"memory://{uuid.uuid4().hex}"), clock=clock, patience=5)
    with Session(engine, Terms(60), label="first", clock=clock) as session:
        engine.token = 7
        session.lock("b").acquire()
        with pytest.raises(fencepost.Lost):
            session.lock("a").acquire().release()
        engine.evict("a", "operator")
        with pytest.raises(Unavailable, match="token 7, though it had given 7 before"):
            session.lock("a").acquire()


def test_those_who_share_may_hear_of_their_grants_in_any_order() -> None:
    credence = Credence()
    for mode, token in itertools.product((Mode.SHARED, Mode.COUNTED), (5, 9, 7)):
        credence.check(request(mode=mode), (token,))
    with pytest.raises(Unavailable):
        credence.check(request(), (9,))
    credence.check(request(), (10,))


def test_it_remembers_only_so_many_names() -> None:
    credence = Credence()
    for number in range(MOST_NAMES * 2):
        credence.check(request(str(number)), (number + 1,))
    assert len(credence) <= MOST_NAMES
    with pytest.raises(Unavailable):
        credence.check(request(str(MOST_NAMES * 2 - 1)), (1,))


@pytest.mark.parametrize("mode", [Mode.EXCLUSIVE, Mode.SHARED])
def test_a_name_that_is_granted_often_is_not_forgotten_for_being_old(mode: Mode) -> None:
    credence = Credence()
    credence.check(request("often"), (7,))
    highest = 7
    for number in range(MOST_NAMES * 2):
        credence.check(request(str(number)), (1,))
        if number % (MOST_NAMES // 3) == 0:
            with pytest.raises(Unavailable):
                credence.check(request("often"), (highest,))
            # Of those who share it, one may hear late of an older grant: that is a grant, too.
            highest += mode is Mode.EXCLUSIVE
            credence.check(request("often", mode), (highest if mode is Mode.EXCLUSIVE else 1,))
