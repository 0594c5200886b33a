"""The contract suite: one chapter per law, run by every engine in both flavours on the real thing.

docs/contract-suite.md says how engine authors run it on their own engine.
"""

from importlib import import_module
from typing import Any, NamedTuple

import pytest

from fencepost.testing.contract.site import SITES, Site

# What an engine itself keeps or breaks.
OF_ENGINES = (
    "token",
    "time",
    "unknown",
    "interruption",
    "late",
    "deadline",
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
    "strangers",
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
    if flavour == "sync":
        return Chapter(law, flavour, getattr(module, f"{law.capitalize()}Chapter"))
    # With the mark they run under pytest-asyncio in any of its modes.
    return Chapter(law, flavour, pytest.mark.asyncio(getattr(module, f"Async{law.capitalize()}Chapter")))


CHAPTERS = tuple(_chapter(law, flavour) for law in LAWS for flavour in FLAVOURS)

__all__ = ["CHAPTERS", "FLAVOURS", "LAWS", "OF_ENGINES", "OF_USERS", "SITES", "Chapter", "Site"]
