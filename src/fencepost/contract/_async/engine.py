# Written by hand; the blocking twin under _sync is generated from it.
"""The engine contract: one attempt per call.

An engine never sleeps, retries, logs or spawns. A return is definite. An exception (`Unavailable` or
`Refused`, nothing of the driver's own) means that what was asked may or may not have happened; the session
settles it.
"""

from collections.abc import Collection, Sequence
from typing import ClassVar, Protocol

from fencepost._runtime import aio as runtime
from fencepost.contract.answer import Busy, Gone, Granted, Queued, Renewal, Snapshot
from fencepost.core.claim import Claim, Request
from fencepost.core.holder import Holder
from fencepost.core.traits import Traits
from fencepost.core.url import Url


class AsyncEngine(Protocol):
    """One connection to one store, used by one session."""

    traits: ClassVar[Traits]

    def __init__(self, url: Url, *, clock: runtime.Clock, patience: float) -> None:
        """Check the URL; send nothing yet. No call may take longer than about `patience` seconds, `wait` aside."""

    async def lease_open(self, holder: Holder, ttl: float) -> None:
        """Make the holder known for `ttl` seconds."""

    async def lease_renew(self, holder: Holder, ttl: float, claims: Collection[Claim]) -> Renewal:
        """Keep the lease, all of its claims and all of its places in queues for `ttl` more seconds: one call.

        `claims` are those the session believes to hold; the answer says which of them are gone.
        """

    async def lease_close(self, holder: Holder) -> None:
        """Give back everything at once. Waits of this holder end with `Gone`."""

    async def claim(self, request: Request, *, wait: bool) -> Granted | Queued | Busy | Gone:
        """Grant all asks of the request or none. If refused: take a place in the queue, or with `wait` false, none.

        Asking again with the same request gives the same answer: its tokens if granted, its place if queued.
        """

    async def wait(self, queued: Queued, timeout: float) -> Granted | Queued | Gone:
        """Wait for the grant, woken by push. `Queued` again when `timeout` seconds are over, or with news."""

    async def withdraw(self, request: Request) -> None:
        """Leave nothing of the request: neither a place in a queue nor a grant."""

    async def release(self, claim: Claim) -> bool:
        """Give back exactly this claim. False if it was not held any more."""

    async def release_all(self, claims: Sequence[Claim]) -> tuple[bool, ...]:
        """Give back several claims of one request in one atomic step; for each whether it was held until now.
        Never called where the trait `together` is false.
        """

    async def share(self, claim: Claim) -> bool:
        """Turn a claim of the whole name into a shared one, with its token and without a gap, and grant the readers
        that stand next. False if it was not held any more. Never called where the trait `downgrade` is false.
        """

    async def look(self, name: str) -> Snapshot:
        """Who holds the name and who waits."""

    async def names(self, prefix: str) -> Sequence[str]:
        """The names that are held or waited for, sorted."""

    async def evict(self, name: str, by: str) -> tuple[Claim, ...]:
        """Take the name from whoever holds it, and keep a bounded record of that. The claims taken away."""

    async def close(self) -> None:
        """Let go of connections and files. Never raises; closing twice is fine."""
