"""An append-only log of events with an expected version: the store of event sourcing, on SQLite and PostgreSQL."""

from typing import TYPE_CHECKING

from fencepost._runtime.late import late, listing
from fencepost.eventlog._sync.log import EventLog
from fencepost.eventlog.event import Event

if TYPE_CHECKING:
    from fencepost.eventlog._async.log import AsyncEventLog

__all__ = ["AsyncEventLog", "Event", "EventLog"]

__getattr__ = late(__name__, {"AsyncEventLog": "fencepost.eventlog._async.log"})
__dir__ = listing(__name__)
