# Generated from src/fencepost/fences/sql/_async/retreat.py by tools/unasync.py. Do not edit: run `make gen`.
"""Out of a transaction of our own that failed or was interrupted."""

from fencepost.fences.sql.driver import threads as driver


def retreat(connection: driver.Driver) -> None:
    """Roll back, also where nothing seems open: a call that was cancelled may be opening it in a thread just now."""
    try:
        connection.rollback()
    except Exception:
        # There was none, or the connection is gone: the first error says more.
        pass
