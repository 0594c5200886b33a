"""The five servers that everybody is measured on."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from fencepost.testing.redis import command, port_of, redis_server

NODES = 5
Ports = tuple[int, ...]


@contextmanager
def five_nodes() -> Iterator[Ports]:
    with ExitStack() as stack:
        yield tuple(port_of(stack.enter_context(redis_server())) for _ in range(NODES))


def empty(ports: Ports) -> None:
    for port in ports:
        command(port, "FLUSHALL")
