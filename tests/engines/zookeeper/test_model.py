"""Random lives of the engine, on a real server, compared with the model."""

from hypothesis import settings

from fencepost.core.url import parse_url
from fencepost.engines.zookeeper._async.engine import AsyncEngine
from fencepost.engines.zookeeper._sync.engine import Engine
from fencepost.testing.machine import async_engine_machine, engine_machine
from fencepost.testing.zookeeper import shared_server

FEW = settings(max_examples=15, stateful_step_count=30, deadline=None)


def _url(store: str) -> str:
    return f"zookeeper://127.0.0.1:{shared_server().port}/{store}"


machine = engine_machine(
    lambda store, clock: Engine(parse_url(_url(store)), clock=clock, patience=5), virtual_time=False
)
async_machine = async_engine_machine(
    lambda store, clock: AsyncEngine(parse_url(_url(store)), clock=clock, patience=5), virtual_time=False
)
TestZookeeper = machine.TestCase
TestZookeeper.settings = FEW
TestAsyncZookeeper = async_machine.TestCase
TestAsyncZookeeper.settings = FEW
