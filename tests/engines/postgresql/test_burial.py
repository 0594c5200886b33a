"""Many whose leases have run out, and many who find them: nobody waits in a circle."""

import threading

import fencepost
from fencepost import EngineError
from fencepost.contract.answer import Granted, Queued
from fencepost.core.claim import Ask, Request
from fencepost.testing.condition import until
from fencepost.testing.postgresql import connect, query

from .conftest import at

EXPIRE = "UPDATE fencepost.lease SET expires_at = clock_timestamp() - interval '1 second' WHERE id IN ('{}', '{}')"
BLOCKED = "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock'"


def test_two_who_find_the_same_two_dead_in_another_order_do_not_wait_for_each_other(port: int) -> None:
    url = at(port)
    with (
        fencepost.connect(url, ttl=300) as one,
        fencepost.connect(url, ttl=300) as other,
        fencepost.connect(url, ttl=300) as first,
        fencepost.connect(url, ttl=300) as second,
        connect(port) as keeper,
    ):
        for name in ("a", "d"):
            one.lock(name).acquire()
        for name in ("b", "c"):
            other.lock(name).acquire()
        dead = one.keeper().holder.id, other.keeper().holder.id
        wanted = {
            session: session.keeper().request((Ask(x), Ask(y)))
            for session, x, y in ((first, "c", "d"), (second, "a", "b"))
        }
        query(port, EXPIRE.format(*dead))
        errors: list[EngineError] = []

        def ask(session: fencepost.Session, request: Request) -> None:
            try:
                session.engine.claim(request, wait=False)
            except EngineError as error:
                errors.append(error)

        # The first of both waits here, if it waits at all, and has nothing yet; the second has one of the dead by then.
        keeper.execute("BEGIN")
        keeper.execute(f"SELECT FROM fencepost.lease WHERE id = '{dead[1]}' FOR UPDATE")
        asking = []
        for number, (session, request) in enumerate(wanted.items()):
            asking.append(threading.Thread(target=ask, args=[session, request]))
            asking[-1].start()
            until(lambda: not asking[-1].is_alive() or len(query(port, BLOCKED)) > number)  # noqa: B023
        keeper.execute("COMMIT")
        for each in asking:
            each.join(60)
        assert errors == []
        for session, request in wanted.items():
            assert isinstance(session.engine.claim(request, wait=False), Granted)


def test_a_waiter_behind_one_that_another_transaction_has_just_buried_is_told_to_look_at_once(port: int) -> None:
    with fencepost.connect(at(port), ttl=300) as dead, fencepost.connect(at(port), ttl=300) as session:
        dead.lock("a").acquire()
        request = session.keeper().request((Ask("a"),))
        assert isinstance(session.engine.claim(request, wait=True), Queued)
        query(port, "UPDATE fencepost.lease SET expires_at = '-infinity' WHERE id = %s", dead.keeper().holder.id)
        ((answer,),) = query(port, "SELECT fencepost.ahead(%s, %s)", request.holder.id, request.serial)
        assert answer["again"] == 0
        session.engine.withdraw(request)
