"""Where things stand in Redis.

The lock of a name is the key `prefix + name`, as any `SET key value NX PX` client has it. Everything else stands in
keys that start with `fencepost` and have a NUL in them, which no name has, so that none of them can be a lock.
They belong to a *shard*: all of a single server, or one slot of a cluster, in whose slot a tag keeps them.
"""

from binascii import crc_hqx
from functools import lru_cache
from itertools import product
from string import ascii_letters, digits

from fencepost.engines.redis.resp import bulk

SLOTS = 16384
_tags: dict[int, bytes] = {}
_candidates = product(ascii_letters + digits + "-_", repeat=3)


def slot_of(key: bytes) -> int:
    """The cluster slot of a key: of what stands between its first braces, if anything does."""
    start = key.find(b"{")
    if start >= 0:
        end = key.find(b"}", start + 1)
        if end > start + 1:
            key = key[start + 1 : end]
    return crc_hqx(key, 0) % SLOTS


def tag_of(slot: int) -> bytes:
    """Three letters that hash to this slot. A name itself will not do as a tag: it may have braces of its own."""
    while slot not in _tags:
        tag = "".join(next(_candidates)).encode()
        _tags.setdefault(crc_hqx(tag, 0) % SLOTS, tag)
    return _tags[slot]


class Shard:
    """The keys that the locks of one server, or of one slot of a cluster, share."""

    __slots__ = ("audit", "index", "index_bulk", "mark", "prefix", "tail_bulk")

    def __init__(self, tag: bytes = b"") -> None:
        self.prefix = b"fencepost%b\0" % (b"{%b}" % tag if tag else b"")
        self.mark = self.prefix + b"mark"
        self.index = self.prefix + b"names"
        self.audit = self.prefix + b"audit"
        self.index_bulk = bulk(self.index)
        self.tail_bulk = bulk(self.mark) + self.index_bulk

    def lease(self, holder: str) -> bytes:
        return self.prefix + b"lease\0" + holder.encode()

    def queue(self, lock: bytes) -> bytes:
        return self.prefix + b"queue\0" + lock


SINGLE = Shard()


@lru_cache(maxsize=SLOTS)
def shard_of(slot: int) -> Shard:
    return Shard(tag_of(slot))


class Place:
    """One name's keys, packed once for all the commands that carry them."""

    __slots__ = ("lock", "lock_bulk", "pair", "shard", "slot")

    def __init__(self, lock: bytes, *, clustered: bool) -> None:
        self.lock = lock
        self.slot = slot_of(lock) if clustered else 0
        self.shard = shard_of(self.slot) if clustered else SINGLE
        self.lock_bulk = bulk(lock)
        self.pair = self.lock_bulk + bulk(self.shard.queue(lock))
