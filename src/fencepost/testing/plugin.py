"""Fixtures for pytest: a virtual world for tests of code that takes locks."""

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


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how many tests did not run for want of a server."""
    from fencepost.testing.binary import MISSING

    reasons: Counter[str] = Counter()
    for report in terminalreporter.stats.get("skipped", []):
        if isinstance(report.longrepr, tuple) and MISSING in (reason := report.longrepr[2]):
            reasons[reason.removeprefix("Skipped: ")] += 1
    for reason, count in sorted(reasons.items()):
        terminalreporter.write_line(f"{count} test{'s' * (count > 1)} skipped: {reason}", yellow=True, bold=True)
