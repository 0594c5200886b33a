"""Locks for people who have a transaction already: on the caller's own psycopg connection, and no longer than it lasts.

No session, no lease, no token: the database itself ends these locks with the transaction, so what is written in the
same transaction needs no fence. `xact_lock` excludes `postgresql+advisory://` on the same name, and any other client
that locks `hashtextextended(name, 0)`.
"""

from fencepost.sql._async.row import lock_rows as lock_rows_async
from fencepost.sql._async.transaction import try_xact_lock as try_xact_lock_async
from fencepost.sql._async.transaction import xact_lock as xact_lock_async
from fencepost.sql._sync.row import lock_rows
from fencepost.sql._sync.transaction import try_xact_lock, xact_lock

__all__ = ["lock_rows", "lock_rows_async", "try_xact_lock", "try_xact_lock_async", "xact_lock", "xact_lock_async"]
