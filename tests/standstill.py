"""A test that failed while the machine stood still has not been run: a plugin that runs it again, and says so.

Leases, time-outs and promptness are real time here. A machine that is paused for longer than a lease ends the lease,
as it should, and the test with it. Whether it was paused is not guessed from the failure but measured, by a process
of its own that does nothing but want to run on every processor. A failure beside a machine that ran is a failure.
"""

import subprocess
import sys
from pathlib import Path

import pytest
from _pytest.runner import runtestprotocol

from fencepost._runtime.clock import boottime
from fencepost.testing.stall import StallMeter

# No processor that is merely shared is away for so long.
MOST = 0.2
# How often a test may meet a pause before it counts.
TRIES = 3
VOID = "void"


class Watch:
    """A process that tells for how long at a time a processor was away between two instants."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.standstill"],
            cwd=Path(__file__).parent.parent,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.longest(0.0, 0.0)

    def longest(self, start_at: float, end_at: float) -> float:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(start_at, end_at, file=self.process.stdin, flush=True)
        return float(self.process.stdout.readline())

    def close(self) -> None:
        self.process.communicate()


class Standstill:
    def __init__(self) -> None:
        self.watch = Watch()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool:
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        pauses: list[str] = []
        while True:
            start_at = boottime()
            reports = runtestprotocol(item, nextitem=nextitem, log=False)
            failed = [report for report in reports if report.failed]
            if not failed:
                break
            paused = self.watch.longest(start_at, boottime())
            failed[0].sections.append(("The machine", f"a processor was away for {paused:.3f} s at most"))
            if paused < MOST or len(pauses) == TRIES:
                break
            pauses.append(f"{paused:.2f} s")
            item._initrequest()  # type: ignore[attr-defined]
        for report in reports:
            if pauses and (report.failed or report.when == "call"):
                report.user_properties.append((VOID, ", ".join(pauses)))
            item.ihook.pytest_runtest_logreport(report=report)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True

    def pytest_unconfigure(self) -> None:
        self.watch.close()


def pytest_configure(config: pytest.Config) -> None:
    # Where tests run: in the workers of xdist, or here if there are none.
    if hasattr(config, "workerinput") or not config.getoption("numprocesses", None):
        config.pluginmanager.register(Standstill(), "standstill")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for outcome in ("passed", "failed", "error"):
        for report in terminalreporter.stats.get(outcome, []):
            # What could not even be collected has none.
            for name, pauses in getattr(report, "user_properties", ()):
                if name == VOID:
                    line = f"run again, as the machine stood still ({pauses}): {report.nodeid}"
                    terminalreporter.write_line(line, yellow=True, bold=True)


def main() -> None:
    with StallMeter(pace=MOST / 10) as meter:
        for line in sys.stdin:
            start_at, end_at = map(float, line.split())
            print(meter.longest(start_at, end_at), flush=True)


if __name__ == "__main__":
    main()
