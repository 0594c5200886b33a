"""The contract on an ensemble: the chapters that several servers can break although one server keeps them.

An ensemble elects, replicates and lags. So it can break the order of tokens and waiters, what is seen of a change made
through another member, what becomes of a request that was not answered, and the ends of leases. The other chapters
are about what is built on top of these, or about what one session does by itself.
"""

import itertools
from collections.abc import Sequence
from typing import Any

from fencepost.testing.contract import CHAPTERS, Chapter, Site

LAWS = ("token", "unknown", "waiting", "liveness", "neighbour", "rwlock", "cell", "election")


def chapters() -> list[Chapter]:
    return [chapter for chapter in CHAPTERS if chapter.law in LAWS]


class EnsembleSite(Site):
    """Each session begins at another member: what one has done must be seen by the next through a server that lags."""

    def __init__(self, urls: Sequence[str], **more: Any) -> None:
        self._turns = itertools.cycle(urls)
        super().__init__(urls[0], **more)

    @property
    def url(self) -> str:
        return next(self._turns)

    @url.setter
    def url(self, url: str) -> None:
        """Only the members that were given."""


def rotations(hosts: Sequence[str]) -> list[str]:
    """The same members, written with each of them first."""
    return [",".join((*hosts[turn:], *hosts[:turn])) for turn in range(len(hosts))]
