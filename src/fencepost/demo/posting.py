"""Three ways to post an entry while holding the lock. They differ in what the ledger is shown, and when."""

from collections.abc import Callable
from enum import StrEnum

from fencepost import Grant
from fencepost.demo.ledger import Ledger
from fencepost.fences import SqliteFence

NAME = "ledger"
Think = Callable[[], None]


class Fencing(StrEnum):
    NONE = "no fence"
    WRITES = "fence on writes only"
    READS_AND_WRITES = "fence on read and write"


def post(fencing: Fencing, ledger: Ledger, grant: Grant, entry: str, think: Think) -> None:
    """Read, think, write back with `entry` added. Raises `Stale` if a fence refuses."""
    match fencing:
        case Fencing.NONE:
            post_unfenced(ledger, entry, think)
        case Fencing.WRITES:
            post_fencing_writes(ledger, grant, entry, think)
        case Fencing.READS_AND_WRITES:
            post_fencing_all(ledger, grant, entry, think)


def post_unfenced(ledger: Ledger, entry: str, think: Think) -> None:
    entries = ledger.read()
    think()
    ledger.write([*entries, entry])


def post_fencing_writes(ledger: Ledger, grant: Grant, entry: str, think: Think) -> None:
    """Not enough: an older holder may still write between our read and our write, and we wipe that out."""
    fence = SqliteFence(ledger.connection)
    entries = ledger.read()
    think()
    with fence.guard(NAME, grant):
        ledger.write([*entries, entry])


def post_fencing_all(ledger: Ledger, grant: Grant, entry: str, think: Think) -> None:
    """Claim first: from here on no older holder can write, so what we read stays true."""
    fence = SqliteFence(ledger.connection)
    fence.claim(NAME, grant)
    entries = ledger.read()
    think()
    with fence.guard(NAME, grant):
        ledger.write([*entries, entry])
