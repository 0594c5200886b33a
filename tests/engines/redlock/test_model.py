"""Random lives of the engine, on five real servers, compared with the model."""

import uuid

from hypothesis import settings

from fencepost.core.url import parse_url
from fencepost.engines.redis.redlock._async.engine import AsyncEngine
from fencepost.engines.redis.redlock._sync.engine import Engine
from fencepost.testing.contract.redlock import shared_nodes, url_of
from fencepost.testing.machine import async_engine_machine, engine_machine

FEW = settings(max_examples=10, stateful_step_count=25, deadline=None)
_urls: dict[str, str] = {}


def _same(store: str) -> str:
    return _urls.setdefault(store, url_of(shared_nodes(), f"?prefix={store}{uuid.uuid4().hex}/"))


machine = engine_machine(
    lambda store, clock: Engine(parse_url(_same(store)), clock=clock, patience=5), virtual_time=False
)
async_machine = async_engine_machine(
    lambda store, clock: AsyncEngine(parse_url(_same(store)), clock=clock, patience=5), virtual_time=False
)
TestRedlock = machine.TestCase
TestRedlock.settings = FEW
TestAsyncRedlock = async_machine.TestCase
TestAsyncRedlock.settings = FEW
