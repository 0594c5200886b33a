"""Which chapters of the contract run at which of our sites, and which of them `make test` leaves to `make test-all`.

Engines that need no server run everything at once. On the others `make test` runs what an engine itself can break;
what is built on top of that follows in `make test-all`. A variant that differs in its transport alone runs the
chapters on transport and fork only; in a cluster every key has its own place, so it keeps all laws of engines but
two: its nodes tell their own addresses, so nothing stands between us and them that could turn silent, or be late.
"""

from fencepost.testing.contract import LAWS, OF_ENGINES, SITES

EMBEDDED = ("memory", "sqlite")
OTHER_TRANSPORT = ("rediss", "redis+unix", "redis+sentinel", "etcds", "consuls")
OTHER_PLACE = ("redis+cluster",)
PROXIED = ("late", "deadline")


def laws_at(scheme: str) -> tuple[str, ...]:
    if scheme in OTHER_TRANSPORT:
        return ("transport", "fork")
    return tuple(law for law in OF_ENGINES if law not in PROXIED) if scheme in OTHER_PLACE else LAWS


def is_quick(scheme: str, law: str) -> bool:
    """Whether `make test` runs it."""
    if scheme in EMBEDDED:
        return True
    return law in OF_ENGINES and scheme not in OTHER_TRANSPORT + OTHER_PLACE


def schemes_of(law: str) -> list[str]:
    return [scheme for scheme in sorted(SITES) if law in laws_at(scheme)]
