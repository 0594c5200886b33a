"""The contract suite: one chapter per law, run by every engine in both flavours on the real thing.

Engine authors run it on their own engine:

    from fencepost.testing import contract

    @pytest.fixture(params=["mine"])
    def site():
        yield contract.Site("mine://127.0.0.1:1234", ttl=1.0)

    for chapter in contract.CHAPTERS:
        globals()[chapter.test_name] = chapter.tests

The parameter is the scheme: tests that need a trait which that engine does not declare are deselected.
"""

from importlib import import_module
from typing import Any, NamedTuple

from fencepost.testing.contract.site import SITES, Site

# What an engine itself keeps or breaks.
OF_ENGINES = (
    "token",
    "time",
    "unknown",
    "waiting",
    "crowd",
    "liveness",
    "fork",
    "neighbour",
    "transport",
    "rwlock",
    "semaphore",
    "together",
    "cell",
    "rate",
    "priority",
)
# What is built on those alone, and so the same on every engine that keeps them.
OF_USERS = ("fence", "block", "election", "group", "meeting", "partition", "job", "courtesy")
LAWS = OF_ENGINES + OF_USERS
FLAVOURS = ("async", "sync")


class Chapter(NamedTuple):
    law: str
    flavour: str
    tests: type[Any]

    @property
    def test_name(self) -> str:
        """What to call it so that pytest finds it."""
        return f"Test{self.law.capitalize()}{self.flavour.capitalize()}"


def _chapter(law: str, flavour: str) -> Chapter:
    module = import_module(f"fencepost.testing.contract._{flavour}.{law}")
    prefix = "Async" if flavour == "async" else ""
    return Chapter(law, flavour, getattr(module, f"{prefix}{law.capitalize()}Chapter"))


CHAPTERS = tuple(_chapter(law, flavour) for law in LAWS for flavour in FLAVOURS)

__all__ = ["CHAPTERS", "FLAVOURS", "LAWS", "OF_ENGINES", "OF_USERS", "SITES", "Chapter", "Site"]
