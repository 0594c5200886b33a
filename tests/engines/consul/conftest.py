import base64
import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from fencepost._runtime.threads import BootClock
from fencepost.core.holder import Holder
from fencepost.core.url import parse_url
from fencepost.engines.consul._sync.engine import ConsulEngine
from fencepost.testing.consul import Agent, Cluster, shared_agent, shared_cluster

LASTING = 60.0
# For what comes within seconds, on a machine that is busy with something else.
PATIENCE = 60.0
# An engine, and a holder with a lease on it, by its label.
Connect = Callable[[str], tuple[ConsulEngine, Holder]]


@pytest.fixture
def agent() -> Agent:
    """The shared agent, emptied."""
    agent = shared_agent()
    agent.empty()
    return agent


@pytest.fixture
def url(agent: Agent) -> str:
    return at(agent.port)


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """Three servers to be harmed: all up again, whatever a test did to them."""
    cluster = shared_cluster()
    cluster.repair()
    cluster.members[0].empty()
    yield cluster
    cluster.repair()


def at(port: int | str, options: str = "") -> str:
    return f"consul://127.0.0.1:{port}?session_ttl_min=0.1{options}"


@pytest.fixture
def connect(url: str) -> Iterator[Connect]:
    """What these have is free at once when their session ends, and nobody hands it over."""
    with ExitStack() as stack:

        def connected(label: str) -> tuple[ConsulEngine, Holder]:
            engine = ConsulEngine(parse_url(f"{url}&lock_delay=0"), clock=BootClock(), patience=20)
            holder = Holder(f"id-of-{label}", label)
            engine.lease_open(holder, LASTING)
            stack.callback(engine.close)
            stack.callback(engine.lease_close, holder)
            return engine, holder

        yield connected


def holder_of(agent: Agent, name: str) -> str:
    """Without looking through an engine, which would put right what it sees."""
    (pair,) = agent.call("GET", f"/v1/kv/{name}/.lock")[1]
    return str(json.loads(base64.b64decode(pair["Value"]))["label"])
