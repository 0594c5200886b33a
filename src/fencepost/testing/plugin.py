"""For pytest: a virtual world for tests of code that takes locks, and the contract suite for engines."""

import random
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from fencepost.testing import AsyncWorld, World


@pytest.fixture
def fencepost_world() -> "Iterator[World]":
    """A world of its own for one test: sessions on a private store, in virtual time."""
    from fencepost.testing._sync.world import World

    with World() as world:
        yield world


@pytest.fixture
def async_fencepost_world() -> "AsyncWorld":
    """The same for asyncio, under any plugin that runs asynchronous tests.

    It is not closed at the end, as no plugin is asked to: its tasks end with the event loop of the test. Where the
    loop outlives the test, write `async with async_fencepost_world as world`.
    """
    from fencepost.testing._async.world import AsyncWorld

    return AsyncWorld()


@pytest.fixture
def fencepost_dice(request: pytest.FixtureRequest) -> random.Random:
    """Where tests of the contract take chance from: the same in every run, until you give it a seed of your own."""
    return random.Random(request.node.name)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "fencepost_needs(*traits, **levels): for engines that have all of this")
    config.addinivalue_line("markers", "fencepost_lacks(*traits): for engines that have none of this")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what the engine under test does not claim to do."""
    others = [item for item in items if not _is_about_its_engine(item)]
    if others:
        config.hook.pytest_deselected(items=others)
        left_out = set(others)
        items[:] = [item for item in items if item not in left_out]


def _is_about_its_engine(item: pytest.Item) -> bool:
    marks = [mark for mark in item.iter_markers() if mark.name.startswith("fencepost_")]
    if not marks:
        return True
    from fencepost.contract import registry
    from fencepost.errors import Unsupported
    from fencepost.testing.contract.need import is_about

    scheme = getattr(item, "callspec", None) and item.callspec.params.get("site")  # type: ignore[attr-defined]
    if not isinstance(scheme, str):
        raise pytest.UsageError(
            f"{item.nodeid}: which engine is this about? @pytest.fixture(params=['scheme']) on 'site' says so"
        )
    try:
        return is_about(marks, registry.engine(scheme).traits)
    except Unsupported:
        # Its driver is not installed, which the site is to say.
        return True


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how many tests did not run for want of a server."""
    from fencepost.testing.binary import MISSING

    reasons: Counter[str] = Counter()
    for report in terminalreporter.stats.get("skipped", []):
        if isinstance(report.longrepr, tuple) and MISSING in (reason := report.longrepr[2]):
            reasons[reason.removeprefix("Skipped: ")] += 1
    for reason, count in sorted(reasons.items()):
        terminalreporter.write_line(f"{count} test{'s' * (count > 1)} skipped: {reason}", yellow=True, bold=True)
