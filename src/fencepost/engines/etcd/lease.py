"""One lease as its engine knows it: what is asked and held on it."""

from fencepost.core.claim import Request
from fencepost.core.holder import Holder
from fencepost.drivers.etcd.waiter import Waiter
from fencepost.engines.etcd.key import Place, lease_of, serial_text


class Entry:
    """A request that was sent: a place in a queue, or with tokens what it holds."""

    __slots__ = ("created", "doubts", "keys", "over", "places", "request", "serial", "tokens", "waiter")

    def __init__(self, request: Request, places: list[Place], lease: int) -> None:
        self.request = request
        self.places = places
        self.serial = serial_text(request.serial)
        self.keys = [place.key(lease, self.serial) for place in places]
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
        # The claims of names asked for before, cut where the serial goes.
        self.patterns: dict[str, list[bytes]] = {}
