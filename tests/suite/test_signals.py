"""The suite under nohup: what its tests start heeds signals all the same."""

import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import ROOT

pytest_plugins = ["pytester"]
IGNORING = ("sh", "-c", """trap "" INT QUIT HUP TERM TSTP; exec "$@" """, "sh")
SUITE = """
    import os, signal, subprocess

    def test_what_is_ignored_in_a_child():
        status = subprocess.run(["cat", "/proc/self/status"], capture_output=True, text=True).stdout
        (line,) = (line for line in status.splitlines() if line.startswith("SigIgn"))
        ignored = int(line.split()[1], 16)
        print("ignored:", *(each.name for each in signal.Signals if ignored >> (each - 1) & 1))
        # They were ignored here, and still do no harm.
        for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGTERM, signal.SIGTSTP):
            os.kill(os.getpid(), number)
    """
ALL = "ignored: SIGHUP SIGINT SIGQUIT SIGTERM SIGTSTP"
NONE = "ignored:"


@pytest.mark.parametrize(
    ("plugins", "ignored"),
    [
        ([], ALL),
        (["-p", "tests.support.signals"], NONE),
        # The processes of xdist are children as well.
        (["-p", "tests.support.signals", "-p", "xdist.plugin", "-n", "1"], NONE),
    ],
    ids=["without", "with", "xdist"],
)
def test_children_of_tests_begin_with_default_signals(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, plugins: list[str], ignored: str
) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTHONPATH", str(ROOT), prepend=":")
    pytester.makepyfile(SUITE)
    command = [*IGNORING, sys.executable, "-m", "pytest", "-rP", *plugins]
    done = subprocess.run(command, cwd=Path.cwd(), capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [line.rstrip() for line in done.stdout.splitlines() if line.startswith("ignored")] == [ignored]
