"""Random lives of the engine, on a real server, compared with the model."""

from hypothesis import settings

from fencepost.core.url import parse_url
from fencepost.engines.etcd._async.engine import AsyncEngine
from fencepost.engines.etcd._sync.engine import Engine
from fencepost.testing.etcd import shared_server
from fencepost.testing.machine import async_engine_machine, engine_machine

FEW = settings(max_examples=8, stateful_step_count=30, deadline=None)


def _url(store: str) -> str:
    return f"etcd://127.0.0.1:{shared_server()}?prefix={store}/"


machine = engine_machine(
    lambda store, clock: Engine(parse_url(_url(store)), clock=clock, patience=5), virtual_time=False
)
async_machine = async_engine_machine(
    lambda store, clock: AsyncEngine(parse_url(_url(store)), clock=clock, patience=5), virtual_time=False
)
TestEtcd = machine.TestCase
TestEtcd.settings = FEW
TestAsyncEtcd = async_machine.TestCase
TestAsyncEtcd.settings = FEW
