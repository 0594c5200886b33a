"""Which test process runs which tests: one that has started a server takes more tests of that server first.

Every test process starts the servers that its tests need, and keeps them to its end. Dealt out one by one, the tests
of each engine reach every process, and each starts servers of every kind: most of the time of a run went into that.
"""

import re
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

from fencepost.testing.contract import SITES
from tests.support.tier import engine_of

# How many tests are dealt out at once: so few that the processes end at about the same time.
PIECE = 12
OWN_FOLDER = ("engines", "fences", "drivers")
SAME_SERVER = {"postgresql+advisory": "postgresql"}
SEVERAL_SERVERS = ("ensemble", "cluster", "sentinel", "partition", "outage")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> "Distribution":
    return Distribution(config, log)


def kind(test: str) -> str:
    """What tests have in common that need the same servers, by the id of the test."""
    file, _, rest = test.partition("::")
    _, *folders, module = PurePosixPath(file).parts
    if len(folders) > 1 and folders[0] in OWN_FOLDER:
        crowd = [word for word in SEVERAL_SERVERS if word in module]
        return " ".join((engine_of(folders[1]), *crowd))
    for parameter in re.split(r"[\[\]-]", rest):
        if parameter in SITES:
            return SAME_SERVER.get(parameter, parameter)
    return folders[0] if folders else module


def pieces(tests: Iterable[str]) -> dict[str, str]:
    """The piece of each test: a few of one kind that stand beside each other."""
    counts: dict[str, int] = {}
    found = {}
    for test in tests:
        mine = kind(test)
        number = counts[mine] = counts.get(mine, -1) + 1
        found[test] = f"{mine}/{number // PIECE}"
    return found


def _kind_of(piece: str) -> str:
    return piece.rpartition("/")[0]


def choose(waiting: Sequence[str], own: set[str], others: set[str]) -> str:
    """The piece for a process that has met the kinds `own`, where `others` are met by other processes.

    One of a kind that it has met; or else of one that nobody has; or else of that with most pieces left.
    """
    left: dict[str, list[str]] = {}
    for piece in waiting:
        left.setdefault(_kind_of(piece), []).append(piece)

    def rank(mine: str) -> tuple[bool, bool, int]:
        return mine in own, mine not in others, len(left[mine])

    return left[max(left, key=rank)][0]


class Distribution(LoadScopeScheduling):  # type: ignore[misc]
    """Deals out pieces as `choose` says; all else is as pytest-xdist does it."""

    def schedule(self) -> None:
        if self.collection is None:
            self._pieces = pieces(next(iter(self.registered_collections.values())))
        super().schedule()

    def _split_scope(self, nodeid: str) -> str:
        return self._pieces[nodeid]

    def _assign_work_unit(self, node) -> None:  # type: ignore[no-untyped-def]
        met = {each: set(map(_kind_of, work)) for each, work in self.assigned_work.items()}
        own = met.pop(node, set())
        self.workqueue.move_to_end(choose(tuple(self.workqueue), own, set().union(*met.values())), last=False)
        super()._assign_work_unit(node)
