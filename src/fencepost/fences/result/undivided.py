"""Work and its result in one transaction: how it is found out that the work has ended it."""

from collections.abc import Iterator
from contextlib import contextmanager

from fencepost.errors import FencepostError
from fencepost.fences.sql.dialect import Dialect


@contextmanager
def undivided(dialect: Dialect) -> Iterator[None]:
    """Around a statement that fails unless the savepoint with which the work began is still there."""
    try:
        yield
    except Exception as error:
        if not dialect.is_no_savepoint(error):
            raise
        raise FencepostError(
            "the work ended the transaction that its result belongs to: leave commit and rollback to the store"
        ) from error
