"""The server that is measured: quick, empty, and on the processors it is told to use."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from fencepost.testing.postgresql import USER, port_of, postgresql_server


@contextmanager
def server(cpus: set[int] | None = None) -> Iterator[int]:
    """The port of a server of our own. The processes it makes for us stay on `cpus`."""
    with postgresql_server("synchronous_commit=on") as process:
        if cpus:
            os.sched_setaffinity(process.pid, cpus)
        yield port_of(process)


def url(scheme: str, port: int) -> str:
    return f"{scheme}://{USER}@127.0.0.1:{port}/postgres"


def conninfo(port: int) -> str:
    return f"host=127.0.0.1 port={port} user={USER} dbname=postgres"
