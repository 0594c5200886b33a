"""`--slowest N`: the tests that took longest, and what the time went into. `make test-slow` asks for twenty.

A test that computes is slow by itself. One that waits has a lease, a process or a server to wait for: before the
test, if a fixture starts a server.
"""

import os
from typing import cast

import pytest

BEGAN = pytest.StashKey[float]()
COMPUTING = "computing"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.getgroup("fencepost").addoption("--slowest", type=int, metavar="N", help="show the N slowest tests, and why")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    item.stash[BEGAN] = _time_computing()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> None:
    if call.when == "teardown":
        item.user_properties.append((COMPUTING, _time_computing() - item.stash[BEGAN]))


def _time_computing() -> float:
    """What this process has used of processors, and those of its children that have ended."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    count = config.getoption("slowest")
    if not count:
        return
    phases: dict[str, dict[str, float]] = {}
    computing: dict[str, float] = {}
    for report in (each for reports in terminalreporter.stats.values() for each in reports):
        if isinstance(report, pytest.TestReport):
            phases.setdefault(report.nodeid, {})[report.when] = report.duration
            properties = cast(list[tuple[str, float]], report.user_properties)
            computing.update((report.nodeid, spent) for name, spent in properties if name == COMPUTING)
    terminalreporter.section(f"the {count} slowest tests, in seconds")
    terminalreporter.write_line("   all before   test  after computing")
    for test in sorted(phases, key=lambda each: -sum(phases[each].values()))[:count]:
        spent = [phases[test].get(phase, 0.0) for phase in ("setup", "call", "teardown")]
        numbers = " ".join(f"{each:6.2f}" for each in (sum(spent), *spent))
        terminalreporter.write_line(f"{numbers} {computing.get(test, 0.0):9.2f}  {test}")
