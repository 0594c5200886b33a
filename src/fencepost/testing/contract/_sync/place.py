# Generated from src/fencepost/testing/contract/_async/place.py by tools/unasync.py. Do not edit: run `make gen`.
"""What the chapters do at a site: connect, with and without faults, and see who is there."""

from typing import Any

from fencepost._runtime import threads as runtime
from fencepost.contract import registry
from fencepost.core.claim import Ask, Request
from fencepost.core.lease import Terms
from fencepost.core.url import parse_url
from fencepost.primitives._sync.connect import connect
from fencepost.primitives._sync.session import Session
from fencepost.testing._sync.fault import FaultyEngine
from fencepost.testing.contract._sync.attempt import Attempt, until
from fencepost.testing.contract.site import Site

# A lease that no test outlasts. Its renewals, after a third of it, come later than any test waits for anything: what
# happens within that time was told, and not found out.
LASTING = 120.0
# A lease that can be waited for, and that a machine which stands still for two seconds does not lose.
STURDY = 3.3
# How often a brisk session does what others do at a third of the lease or after a pause.
BRISK = 0.1
# For how long an answer is waited for: a server on a busy machine may take its time, also under a short lease.
PATIENCE = 20.0


class BriskClock(runtime.BootClock):
    """A real clock, with which nobody waits for long."""

    def wait(self, event: runtime.Event, until: float) -> bool:
        return super().wait(event, min(until, self.now() + BRISK))


def connect_to(site: Site, *, label: str = "first", **options: Any) -> Session:
    """A session as any user gets it, with a lease that lasts."""
    return patient(connect(site.url, ttl=options.pop("ttl", LASTING), holder=label, **options))


def patient(session: Session) -> Session:
    """With time for an engine on a busy machine to answer a try, and to confirm that nothing is left."""
    session.limits = session.limits._replace(call=PATIENCE, answer=PATIENCE, farewell=PATIENCE)
    return session


def connect_faulty(
    site: Site, *, label: str = "faulty", ttl: float | None = None, margin: float = 0.0
) -> tuple[Session, FaultyEngine]:
    """A session, and the power to break its engine. Its lease is short, as most who break it wait for its end.

    A busy machine may lose a short lease before the test does: no test may fail of that (see `until_queued`).
    """
    return _faulty(site.url, label, Terms(ttl or site.ttl, margin), runtime.BootClock())


def connect_brisk(site: Site, *, label: str = "faulty") -> tuple[Session, FaultyEngine]:
    """The same with a lease that lasts, renewed all the time: for what happens at a renewal, or at a second try."""
    return _faulty(site.url, label, Terms(LASTING), BriskClock())


def _faulty(url: str, label: str, terms: Terms, clock: runtime.Clock) -> tuple[Session, FaultyEngine]:
    address = parse_url(url)
    kind = registry.engine(address.scheme)

    def made() -> tuple[FaultyEngine, str]:
        return FaultyEngine(kind(address, clock=runtime.BootClock(), patience=PATIENCE)), label

    engine, _ = made()
    return patient(Session(engine, terms, label=label, clock=clock, remake=made)), engine


def waiters(session: Session, name: str) -> list[str]:
    return [standing.claim.holder.label for standing in (session.look(name)).waiters]


def holders(session: Session, name: str) -> list[str]:
    return [standing.claim.holder.label for standing in (session.look(name)).holders]


def there(session: Session, name: str) -> tuple[list[str], list[str]]:
    """Who holds it, and who waits for it, at one look."""
    snapshot = session.look(name)
    return (
        [standing.claim.holder.label for standing in snapshot.holders],
        [standing.claim.holder.label for standing in snapshot.waiters],
    )


def stand_in_line(session: Session, ask: Ask) -> Request:
    """A place in the queue that is left when the test says so, with `session.engine.withdraw`."""
    request = (session.keeper()).request((ask,))
    session.engine.claim(request, wait=True)
    return request


def until_waiting(session: Session, name: str, count: int) -> None:
    """Until that many wait for the name."""

    def enough() -> bool:
        return len(waiters(session, name)) == count

    until(enough)


def until_queued(session: Session, name: str, *attempts: Attempt[Any], besides: int = 0) -> None:
    """Until each of these waits for the name, or has ended; and so many others wait.

    It has ended if the lease before it was lost too early, since the machine was busy.
    """

    def queued() -> bool:
        waiting = len(waiters(session, name))
        return waiting == besides + sum(not attempt.ended.is_set() for attempt in attempts)

    until(queued)


def until_free(session: Session, name: str) -> None:
    def free() -> bool:
        return not holders(session, name)

    until(free)
