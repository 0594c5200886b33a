"""One lease as its engine knows it: what is asked and held on it."""

from fencepost.core.claim import Request
from fencepost.core.holder import Holder
from fencepost.drivers.etcd.waiter import Waiter
from fencepost.engines.etcd.key import Place, lease_of


class Entry:
    """A request that was sent: a place in a queue, or with tokens what it holds."""

    __slots__ = ("created", "doubts", "keys", "over", "places", "request", "since", "tokens", "waiter")

    def __init__(self, request: Request, places: list[Place], lease: int, since: float) -> None:
        self.request = request
        self.places = places
        self.keys = [place.key(lease, request.serial) for place in places]
        self.since = since
        # The revision that created its keys, once they are known to be there.
        self.created = 0
        self.tokens: tuple[int, ...] | None = None
        # How many claims were sent and never answered: each may still arrive.
        self.doubts = 0
        self.over: str | None = None
        self.waiter = Waiter()


class Lease:
    def __init__(self, holder: Holder) -> None:
        self.holder = holder
        self.id = lease_of(holder)
        self.entries: dict[int, Entry] = {}
