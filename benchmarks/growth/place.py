"""Where it is measured: one site for every engine, with the servers that its tests start."""

from collections.abc import Iterator
from contextlib import contextmanager

from fencepost.contract import registry
from fencepost.testing.contract import SITES, Site

# Long enough that hardly a renewal falls into what is measured.
TTL = 60.0


def schemes() -> list[str]:
    """The first scheme of each engine: another scheme of the same one is another way to its server."""
    first: dict[str, str] = {}
    for scheme, entry in registry.BUILT_IN.items():
        first.setdefault(entry.module, scheme)
    return list(first.values())


@contextmanager
def site(scheme: str) -> Iterator[Site]:
    with SITES[scheme]() as found:
        yield found
