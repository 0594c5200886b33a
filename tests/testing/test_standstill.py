"""Only a failure beside a machine that stood still is run again."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
# Who watches is stopped, which is all it can see of a machine that is.
TESTS = """
import os, signal, time

def stand_still(config):
    pid = config.pluginmanager.get_plugin("standstill").watch.process.pid
    os.kill(pid, signal.SIGSTOP)
    time.sleep(0.5)
    os.kill(pid, signal.SIGCONT)

runs = []

def test_fails_once_beside_a_machine_that_stands_still(request):
    runs.append("paused")
    if runs.count("paused") == 1:
        stand_still(request.config)
        raise AssertionError

def test_fails_always_beside_a_machine_that_stands_still(request):
    stand_still(request.config)
    raise AssertionError

def test_fails_once_beside_a_machine_that_runs():
    runs.append("ran")
    assert runs.count("ran") > 1
"""


def test_a_failure_is_void_only_if_the_machine_stood_still(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-p", "tests.standstill", "-p", "no:cacheprovider", tmp_path]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    said = ended.stdout
    assert "2 failed, 1 passed" in said
    assert said.count("run again, as the machine stood still (0.") == 2
    assert [line for line in said.splitlines() if line.startswith("FAILED") and "machine_that_runs" in line]
