"""Random lives of the engine, on a real server, compared with the model."""

import uuid

from hypothesis import settings

from fencepost.core.url import parse_url
from fencepost.engines.redis._async.engine import AsyncEngine
from fencepost.engines.redis._sync.engine import Engine
from fencepost.testing.machine import async_engine_machine, engine_machine
from fencepost.testing.redis import shared_server

FEW = settings(max_examples=25, stateful_step_count=30, deadline=None)


def _url(store: str) -> str:
    return f"redis://127.0.0.1:{shared_server()}?prefix={store}{uuid.uuid4().hex}/"


_urls: dict[str, str] = {}


def _same(store: str) -> str:
    return _urls.setdefault(store, _url(store))


machine = engine_machine(
    lambda store, clock: Engine(parse_url(_same(store)), clock=clock, patience=5), virtual_time=False
)
async_machine = async_engine_machine(
    lambda store, clock: AsyncEngine(parse_url(_same(store)), clock=clock, patience=5), virtual_time=False
)
TestRedis = machine.TestCase
TestRedis.settings = FEW
TestAsyncRedis = async_machine.TestCase
TestAsyncRedis.settings = FEW
