"""A signal handler that raises, at any point of a call that gives something back or reads for others."""

import socket
from collections.abc import Callable, Iterator

import pytest

from fencepost._runtime import threads
from fencepost._runtime.readiness import alarm
from fencepost.contract import registry
from fencepost.core.url import parse_url
from fencepost.drivers.etcd.endpoint import Endpoints
from fencepost.drivers.etcd.wire import aio as etcd
from fencepost.engines.consul.address import Host
from fencepost.engines.consul.address import locate as locate_consul
from fencepost.engines.consul.wire import aio as consul
from fencepost.engines.consul.wire import threads as consul_threads
from fencepost.engines.redis.address import locate
from fencepost.engines.redis.redlock.fleet.peer import Peer
from fencepost.engines.redis.wire import aio as redis
from fencepost.engines.zookeeper.wire import threads as zookeeper
from fencepost.errors import Unavailable
from fencepost.testing.contract import SITES
from tests.support.interruption import Act, closing_the_lease, every_point, interrupt_at, releasing, waiting

PATIENCE = 20.0
SERVED = ("redis", "redlock", "etcd", "zookeeper", "consul", "postgresql", "postgresql+advisory")
# Whoever waits comes to so many points that each would take too long; and so does a connection to PostgreSQL.
STRIDES: dict[Act, int] = {releasing: 1, closing_the_lease: 1, waiting: 6}


# What is dropped half made is closed when it is collected.
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning")
@pytest.mark.parametrize("act", STRIDES)
@pytest.mark.parametrize("scheme", SERVED)
def test_an_interruption_of_what_gives_back_or_reads_for_others_keeps_nobody_waiting(scheme: str, act: Act) -> None:
    with SITES[scheme]() as site:
        url = parse_url(site.url)

        def make() -> object:
            return registry.engine(scheme)(url, clock=threads.BootClock(), patience=PATIENCE)

        stride = STRIDES[act] * (5 if scheme.startswith("postgresql") else 1)
        assert every_point(make, act, stride=stride) > 3


@pytest.fixture
def nobody() -> Iterator[int]:
    """A port that answers nobody: it is taken, and nothing listens there."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning")
def test_interrupted_calls_leave_room_for_others_at_the_agent_of_consul(nobody: int) -> None:
    link = consul_threads.Link(_consul(nobody), PATIENCE)
    room = link._turns.qsize()

    def call() -> None:
        with pytest.raises(Unavailable):
            link.call(b"GET / HTTP/1.1\r\n\r\n")

    point = 0
    while where := interrupt_at(point, call):
        assert link._turns.qsize() == room, where
        assert link.host, where
        point += 1
    assert point > 10


def _consul(port: int) -> tuple[Host, ...]:
    return locate_consul(parse_url(f"consul://127.0.0.1:{port}")).hosts


MAKERS: dict[str, Callable[[int], object]] = {
    "an alarm": lambda port: alarm(),
    "a node of redlock": lambda port: Peer(locate(parse_url(f"redis://127.0.0.1:{port}"))),
    "a link to redis": lambda port: redis.Link(locate(parse_url(f"redis://127.0.0.1:{port}")), PATIENCE),
    "a link to etcd": lambda port: etcd.Link(Endpoints(parse_url(f"etcd://127.0.0.1:{port}")), PATIENCE),
    "a link to consul": lambda port: consul.Link(_consul(port), PATIENCE),
    "a connection to zookeeper": lambda port: zookeeper.Connection(PATIENCE, lambda path, gone: None),
}


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("what", MAKERS)
def test_what_is_interrupted_as_it_is_made_is_dropped_without_a_word(what: str, nobody: int) -> None:
    def make() -> None:
        try:
            MAKERS[what](nobody)
        except OSError:
            pass

    make()
    point = 0
    # What a destructor raises is a warning, and that an error.
    while interrupt_at(point, make):
        point += 1
    assert point > 0
