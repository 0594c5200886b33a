"""Which keys a lock has: those of etcd's own concurrency package, so that its clients and ours exclude each other.

Contenders for a name are the keys `name/lease`, the lease in hex, ordered by the revision that created them. Where one
session asks more than once at a time the others are `name/lease.1` and so on; any key below `name/` counts there. Keys
are used again and again: etcd walks over every one that ever was, until its history is compacted.
"""

import hashlib
import re

from fencepost.core.holder import Holder
from fencepost.core.name import is_name
from fencepost.drivers.etcd.answer import KeyValue
from fencepost.drivers.etcd.request import prefix_end

# No name has a NUL, so that these are no lock's.
OURS = "\0fencepost/"
SUFFIX = re.compile(rb"([0-9a-f]{1,16})(?:\.[0-9]+)?")


def lease_of(holder: Holder) -> int:
    """The lease of a holder: known without asking, so that one whose grant was not confirmed can be revoked."""
    return int.from_bytes(hashlib.blake2b(holder.id.encode(), digest_size=8).digest()) >> 1 or 1


class Place:
    """Where the contenders for one name stand."""

    __slots__ = ("end", "name", "start")

    def __init__(self, prefix: str, name: str) -> None:
        self.name = name
        self.start = f"{prefix}{name}/".encode()
        self.end = prefix_end(self.start)

    def key(self, lease: int, slot: int) -> bytes:
        return b"%b%x.%d" % (self.start, lease, slot) if slot else b"%b%x" % (self.start, lease)

    def is_contender(self, pair: KeyValue) -> bool:
        """Whether a key in this range is one: locks of longer names, and whatever else is below ours, are not."""
        return names_lease(pair.key[len(self.start) :], pair.lease)


def names_lease(suffix: bytes, lease: int) -> bool:
    match = SUFFIX.fullmatch(suffix)
    return lease != 0 and match is not None and int(match[1], 16) == lease


def is_likely(key: bytes) -> bool:
    """Whether a key looks like a contender's, whatever its lease."""
    return SUFFIX.fullmatch(key.rpartition(b"/")[2]) is not None


def name_of(pair: KeyValue, prefix: str) -> str | None:
    """The name that this key is a contender for, if it is one."""
    head, _, suffix = pair.key.rpartition(b"/")
    if not names_lease(suffix, pair.lease):
        return None
    try:
        name = head.decode()[len(prefix) :]
    except UnicodeDecodeError:
        return None
    return name if is_name(name) else None


def epoch(prefix: str, lease: int) -> bytes:
    """One key of a lease, written anew when a request was given up whose claim may be on its way."""
    return f"{prefix}{OURS}epoch/{lease:x}".encode()


def evictions(prefix: str, name: str) -> bytes:
    return f"{prefix}{OURS}evicted/{name}\0".encode()


def eviction(prefix: str, name: str, token: int) -> bytes:
    # Nineteen digits keep the order of the numbers.
    return evictions(prefix, name) + b"%019d" % token


def cell(prefix: str, key: str) -> bytes:
    return f"{prefix}{OURS}cell/{key}".encode()
