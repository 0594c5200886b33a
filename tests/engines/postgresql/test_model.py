"""Random lives of the table engine, on a real server, compared with the model."""

from hypothesis import HealthCheck, settings

from fencepost.core.url import parse_url
from fencepost.engines.postgresql._async.engine import AsyncEngine
from fencepost.engines.postgresql._sync.engine import Engine
from fencepost.testing.machine import async_engine_machine, engine_machine
from fencepost.testing.postgresql import USER, query, shared_server

FEW = settings(max_examples=10, stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck))
_emptied: set[str] = set()


def _url(store: str) -> str:
    port = shared_server()
    if store not in _emptied:
        _emptied.add(store)
        query(port, "DROP SCHEMA IF EXISTS machine CASCADE")
    return f"postgresql://{USER}@127.0.0.1:{port}/postgres?schema=machine"


machine = engine_machine(
    lambda store, clock: Engine(parse_url(_url(store)), clock=clock, patience=5), virtual_time=False
)
async_machine = async_engine_machine(
    lambda store, clock: AsyncEngine(parse_url(_url(store)), clock=clock, patience=5), virtual_time=False
)
TestPostgresql = machine.TestCase
TestPostgresql.settings = FEW
TestAsyncPostgresql = async_machine.TestCase
TestAsyncPostgresql.settings = FEW
