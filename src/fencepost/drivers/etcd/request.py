"""What is asked of etcd, as the bytes of its messages (api/etcdserverpb/rpc.proto)."""

from collections.abc import Sequence

from fencepost.drivers.etcd.protobuf import message, number, text

# A method, and the message for it.
Call = tuple[str, bytes]
KV_RANGE, KV_TXN = "/etcdserverpb.KV/Range", "/etcdserverpb.KV/Txn"
LEASE_GRANT, LEASE_REVOKE = "/etcdserverpb.Lease/LeaseGrant", "/etcdserverpb.Lease/LeaseRevoke"
LEASE_KEEP_ALIVE, LEASE_TIME_TO_LIVE = "/etcdserverpb.Lease/LeaseKeepAlive", "/etcdserverpb.Lease/LeaseTimeToLive"
WATCH, AUTHENTICATE, STATUS = (
    "/etcdserverpb.Watch/Watch",
    "/etcdserverpb.Auth/Authenticate",
    "/etcdserverpb.Maintenance/Status",
)
# Their streams stay open until the answer is here: at the end of what we say etcd's grpc-proxy gives up the call.
KEPT_OPEN = frozenset([LEASE_KEEP_ALIVE])
ASCENDING, DESCENDING, BY_CREATION = number(5, 1), number(5, 2), number(6, 2)


def prefix_end(prefix: bytes) -> bytes:
    """The end of the range of all keys that start with `prefix`."""
    head = prefix.rstrip(b"\xff")
    return head[:-1] + bytes([head[-1] + 1]) if head else b"\x00"


# Parts of a transaction: a condition, or something to do.


def created_at(key: bytes, revision: int, end: bytes = b"") -> bytes:
    """True if the key was created at that revision; 0 if there is none. With `end`, of every key of the range."""
    # Equal, of the create revision. A zero is written out: it is the value to compare with.
    revision_field = b"\x28" + number(5, revision)[1:] if revision else b"\x28\x00"
    return b"\x10\x01" + text(3, key) + revision_field + text(64, end)


def modified_at(key: bytes, revision: int) -> bytes:
    """True if the key was last written at that revision; 0 if there is none."""
    return b"\x10\x02" + text(3, key) + (number(6, revision) or b"\x30\x00")


def has_lease(key: bytes, lease: int) -> bytes:
    """True if the key is on that lease; 0 if it is on none."""
    return b"\x10\x04" + text(3, key) + (number(8, lease) or b"\x40\x00")


def has_value(key: bytes, value: bytes) -> bytes:
    """True if that is what stands under the key."""
    return b"\x10\x03" + text(3, key) + message(7, value)


def has_more(key: bytes, value: bytes) -> bytes:
    """True if what stands under the key is greater, as text; false if nothing does."""
    return b"\x08\x01\x10\x03" + text(3, key) + message(7, value)


def has_less(key: bytes, value: bytes) -> bytes:
    """True if what stands under the key is less, as text; false if nothing does."""
    return b"\x08\x02\x10\x03" + text(3, key) + message(7, value)


def put(key: bytes, value: bytes, lease: int = 0) -> bytes:
    return message(2, text(1, key) + text(2, value) + number(3, lease))


def delete(key: bytes, end: bytes = b"") -> bytes:
    return message(3, text(1, key) + text(2, end))


def select(
    key: bytes,
    end: bytes = b"",
    *,
    by_creation: bool = False,
    latest: bool = False,
    keys_only: bool = False,
    limit: int = 0,
    revision: int = 0,
) -> bytes:
    """What to read, as `KV_RANGE` takes it: in the order of creation, or the `latest` first. With a revision, as it was
    then."""
    order = DESCENDING + BY_CREATION if latest else ASCENDING + BY_CREATION if by_creation else b""
    return text(1, key) + text(2, end) + number(3, limit) + number(4, revision) + order + number(8, keys_only)


def read(selected: bytes) -> bytes:
    """The same, as a part of a transaction."""
    return message(1, selected)


def nested(transaction: bytes) -> bytes:
    return message(4, transaction)


def transaction(conditions: Sequence[bytes], then: Sequence[bytes], otherwise: Sequence[bytes] = ()) -> bytes:
    return b"".join(
        [
            *(message(1, each) for each in conditions),
            *(message(2, each) for each in then),
            *(message(3, each) for each in otherwise),
        ]
    )


# Leases.


def lease_grant(lease: int, seconds: int) -> bytes:
    return number(1, seconds) + number(2, lease)


def lease_id(lease: int) -> bytes:
    """For keeping a lease alive, and for revoking it."""
    return number(1, lease)


def lease_time_to_live(lease: int, *, keys: bool = False) -> bytes:
    return number(1, lease) + number(2, keys)


# Watching, and who we are.


def watch(number_of_watch: int, key: bytes) -> bytes:
    """Tell of every change of one key from now on.

    We number watches ourselves, so as to know them by it: on each stream from 0, in the order in which they are asked
    for. etcd would give them the same numbers; its grpc-proxy does, whatever it is told.
    """
    return message(1, text(1, key) + number(7, number_of_watch))


def watch_range(number_of_watch: int, key: bytes, end: bytes, *, writes: bool) -> bytes:
    """Tell of every deletion from now on, and with `writes` of those, too."""
    # The filter for puts is number 0 in a list, which must be written out.
    deletions_only = b"" if writes else b"\x2a\x01\x00"
    return message(1, text(1, key) + text(2, end) + deletions_only + number(7, number_of_watch))


def unwatch(number_of_watch: int) -> bytes:
    return message(2, number(1, number_of_watch))


def authenticate(name: str, password: str) -> bytes:
    return text(1, name.encode()) + text(2, password.encode())
