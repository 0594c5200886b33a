"""Sessions whose engine waits for an answer as long as a test wants.

`connect` takes a third of the lease for the patience. A test that must tell who waits for a dead server wants more of
it than any machine is slow; a test whose server is silent wants less, under a lease that goes on all the same.
"""

import fencepost
from fencepost._runtime import aio, threads
from fencepost.contract import registry
from fencepost.core.lease import Terms
from fencepost.core.url import parse_url


def connect(url: str, *, ttl: float, patience: float) -> fencepost.Session:
    address, clock = parse_url(url), threads.BootClock()
    engine = registry.engine(address.scheme)(address, clock=clock, patience=patience)
    return fencepost.Session(engine, Terms(ttl), label="patient", clock=clock)


def connect_async(url: str, *, ttl: float, patience: float) -> fencepost.AsyncSession:
    address, clock = parse_url(url), aio.BootClock()
    engine = registry.async_engine(address.scheme)(address, clock=clock, patience=patience)
    return fencepost.AsyncSession(engine, Terms(ttl), label="patient", clock=clock)
