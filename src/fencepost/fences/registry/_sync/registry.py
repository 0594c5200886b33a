# Generated from src/fencepost/fences/registry/_async/registry.py by tools/unasync.py. Do not edit: run `make gen`.
"""Tokens kept beside a resource that can not keep them itself: a printer, a mail server, somebody else's API."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from fencepost.fences.protocol import Tokened
from fencepost.fences.redis._sync.fence import RedisFence
from fencepost.fences.redis.source import check_client
from fencepost.fences.sql._sync.fence import SqlFence


class Registry:
    """The marks of resources that have none, in `store`: a connection that a SQL fence takes, or a client of Redis.

    `admit` refuses stale tokens before the resource is used. `visit` also asks again afterwards, and tells whoever was
    overtaken on the way.

    Limits. The check and the use are two steps: a holder that is paused between them is not refused, it is told
    afterwards, by `Stale` at the end of its visit. Where a resource has a place for a number, or a gateway can stand
    before it, use a fence that leaves no gap.
    """

    def __init__(self, store: Any) -> None:
        self._fence: RedisFence | SqlFence
        if hasattr(store, "register_script"):
            self._fence = RedisFence(check_client(store, "Registry"))
        else:
            self._fence = SqlFence(store)

    def admit(self, name: str, grant: Tokened | int) -> None:
        """Show the token: every lower one is refused from now on. Raises `Stale` if it is lower itself."""
        self._fence.claim(name, grant)

    @contextmanager
    def visit(self, name: str, grant: Tokened | int) -> "Iterator[None]":
        """Admit, run the block, and look again: `Stale` if a newer holder came while it ran."""
        self._fence.claim(name, grant)
        yield
        self._fence.claim(name, grant)

    def highest(self, name: str) -> int:
        """The mark of `name`, 0 if no token was ever accepted. For people and tests; it decides nothing."""
        return self._fence.highest(name)
