# Written by hand; the blocking twin under _sync is generated from it.
"""Out of a transaction of our own that failed or was interrupted."""

from fencepost.fences.sql.driver import aio as driver


async def retreat(connection: driver.Driver) -> None:
    """Roll back, also where nothing seems open: a call that was cancelled may be opening it in a thread just now."""
    try:
        await connection.rollback()
    except Exception:
        # There was none, or the connection is gone: the first error says more.
        pass
