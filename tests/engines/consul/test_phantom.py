"""What is left of a claim that was found gone: nothing, so that nobody waits for one that no longer holds."""

from collections.abc import Callable
from typing import Any

import pytest

from fencepost import Unavailable
from fencepost.contract.answer import Granted, Queued
from fencepost.core.claim import Ask, Claim, Request
from fencepost.core.holder import Holder
from fencepost.engines.consul._sync.engine import ConsulEngine
from fencepost.testing.consul import Agent

from .conftest import LASTING, Connect

Find = Callable[[ConsulEngine, Claim], None]


def by_renewal(engine: ConsulEngine, claim: Claim) -> None:
    gone = engine.lease_renew(claim.holder, LASTING, [claim]).gone
    assert [(serial, name) for serial, name, _ in gone] == [(claim.serial, claim.name)]


def by_release(engine: ConsulEngine, claim: Claim) -> None:
    assert not engine.release(claim)


def by_release_of_all(engine: ConsulEngine, claim: Claim) -> None:
    assert engine.release_all([claim]) == (False,)


def by_sharing(engine: ConsulEngine, claim: Claim) -> None:
    assert not engine.share(claim)


def by_release_after_sharing(engine: ConsulEngine, claim: Claim) -> None:
    engine._leases[claim.holder.id].entries[claim.serial].shared = True
    assert not engine.release(claim)


WAYS = [by_renewal, by_release, by_release_of_all, by_sharing, by_release_after_sharing]


def keys_of_a(agent: Agent) -> list[str]:
    found = agent.keys()
    return [key for key in found if key.startswith("a/")]


def granted_after_waiting(engine: ConsulEngine, holder: Holder) -> Claim:
    first, second = Request(holder, 1, (Ask("a"),)), Request(holder, 2, (Ask("a"),))
    held = engine.claim(first, wait=False)
    assert isinstance(held, Granted)
    place = engine.claim(second, wait=True)
    assert isinstance(place, Queued)
    assert engine.release(Claim(holder, 1, Ask("a"), held.tokens[0]))
    granted = engine.wait(place, 0.0)
    assert isinstance(granted, Granted)
    return Claim(holder, 2, Ask("a"), granted.tokens[0])


@pytest.mark.parametrize("seen", [True, False], ids=["seen by the next", "unseen"])
@pytest.mark.parametrize("find", WAYS, ids=lambda find: find.__name__)
def test_whoever_waits_gets_the_lock_whose_key_was_deleted_once_its_holder_knows(
    find: Find, seen: bool, connect: Connect, agent: Agent
) -> None:
    (one, holder), (two, waiter) = connect("one"), connect("two")
    claim = granted_after_waiting(one, holder)
    place = two.claim(Request(waiter, 1, (Ask("a"),)), wait=True)
    assert isinstance(place, Queued)
    agent.call("DELETE", "/v1/kv/a/.lock")
    if seen:
        two.look("a")
    find(one, claim)
    granted = two.wait(place, 0.0)
    assert isinstance(granted, Granted)
    assert granted.tokens[0] > (claim.token or 0)
    assert two.release(Claim(waiter, 1, Ask("a"), granted.tokens[0]))
    assert keys_of_a(agent) == []


def test_a_loss_is_told_though_what_is_left_of_it_can_not_be_removed(connect: Connect, agent: Agent) -> None:
    engine, holder = connect("one")
    claim = granted_after_waiting(engine, holder)
    agent.call("DELETE", "/v1/kv/a/.lock")
    store: Any = engine._store
    transact = store.transact

    def failing(operations: Any) -> Any:
        if any(each["KV"]["Verb"] == "delete" for each in operations):
            raise Unavailable("held up")
        return transact(operations)

    store.transact = failing
    by_renewal(engine, claim)
    store.transact = transact
    assert not engine.release(claim)
    assert keys_of_a(agent) == []
