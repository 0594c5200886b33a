# Generated from src/fencepost/testing/contract/_async/place.py by tools/unasync.py. Do not edit: run `make gen`.
"""What the chapters do at a site: connect, with and without faults, and see who is there."""

from typing import Any

from fencepost._runtime import threads as runtime
from fencepost.contract import registry
from fencepost.core.lease import Terms
from fencepost.core.url import parse_url
from fencepost.primitives._sync.connect import connect
from fencepost.primitives._sync.session import Session
from fencepost.testing._sync.fault import FaultyEngine
from fencepost.testing.contract._sync.attempt import until
from fencepost.testing.contract.site import Site

# A lease that no test outlasts, nor a machine that stands still for a moment.
LASTING = 10.0


def connect_to(site: Site, *, label: str = "first", **options: Any) -> Session:
    """A session as any user gets it; with `ttl=site.ttl` where the end of its lease, or a renewal, is waited for."""
    return connect(site.url, ttl=options.pop("ttl", LASTING), holder=label, **options)


def connect_faulty(
    site: Site, *, label: str = "faulty", ttl: float | None = None, margin: float = 0.0
) -> tuple[Session, FaultyEngine]:
    """A session, and the power to break its engine. Its lease is short, as most who break it wait for its end."""
    address = parse_url(site.url)
    clock = runtime.BootClock()
    terms = Terms(ttl or site.ttl, margin)
    # The faults are not the server's: it may take its time on a busy machine, also under a short lease.
    patience = max(terms.span / 3, 1.0)
    engine = FaultyEngine(registry.engine(address.scheme)(address, clock=clock, patience=patience))
    return Session(engine, terms, label=label, clock=clock), engine


def waiters(session: Session, name: str) -> list[str]:
    return [standing.claim.holder.label for standing in (session.look(name)).waiters]


def holders(session: Session, name: str) -> list[str]:
    return [standing.claim.holder.label for standing in (session.look(name)).holders]


def until_waiting(session: Session, name: str, count: int) -> None:
    """Until that many wait for the name."""

    def enough() -> bool:
        return len(waiters(session, name)) == count

    until(enough)


def until_free(session: Session, name: str, within: float = 20.0) -> None:
    def free() -> bool:
        return not holders(session, name)

    until(free, within)
