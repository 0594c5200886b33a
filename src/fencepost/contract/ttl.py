"""How an engine says which leases it can not keep."""

from typing import Protocol, runtime_checkable


@runtime_checkable
class ChecksTtl(Protocol):
    """An engine whose address may ask for what it can keep only for leases of some length."""

    def check_ttl(self, ttl: float) -> None:
        """Raise `ValueError`, which says what to do, unless a lease can be that long."""
