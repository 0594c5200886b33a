"""The sites of PostgreSQL, and plain SQL as the neighbour of its advisory locks."""

from collections.abc import Iterator
from contextlib import contextmanager

from fencepost.testing import postgresql
from fencepost.testing.contract.site import Site


@contextmanager
def site(scheme: str) -> Iterator[Site]:
    """A database without our schema."""
    port = postgresql.shared_server()
    postgresql.query(port, "DROP SCHEMA IF EXISTS fencepost CASCADE")
    yield Site(f"{scheme}://{postgresql.USER}@127.0.0.1:{port}/postgres")
