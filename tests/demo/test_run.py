"""The demo as people run it: real processes, really stopped."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from fencepost.testing.condition import until
from tests.support.now import now

COMMAND = [sys.executable, "-m", "fencepost.demo"]


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def state(pid: int) -> str:
    """The letter that the kernel has for it, Z if it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return "Z"


def is_gone(pid: int) -> bool:
    return state(pid) == "Z"


def is_stopped(pid: int) -> bool:
    return state(pid) == "T"


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_short_run_loses_without_a_fence_and_nothing_behind_the_full_one() -> None:
    run = subprocess.run([*COMMAND, "--json", "--seconds", "2.5", "--seed", "7"], capture_output=True)
    assert run.stdout, run.stderr.decode()
    result = json.loads(run.stdout)
    bare, _, full = result["rounds"]
    assert (run.returncode, result["faults"], result["seed"]) == (0, [], 7), run.stderr.decode()
    assert bare["lost"] > 0
    assert (full["lost"], full["surviving"]) == (0, full["acknowledged"])
    assert full["refused"] > 0


@pytest.mark.slow
@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_however_it_ends_no_worker_is_left(ending: signal.Signals, tmp_path: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    command = [*COMMAND, "--seconds", "60"]
    demo = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment)
    workers: list[int] = []
    try:
        until(lambda: len(children(demo.pid)) == 5, within=60)
        workers = children(demo.pid)
        until(lambda: demo.poll() is not None or any(is_stopped(worker) for worker in workers), within=60)
        assert now(demo.returncode) is None, (demo.stderr or sys.stderr).read()
        demo.send_signal(ending)
        _, complaint = demo.communicate(timeout=60)
        until(lambda: all(is_gone(worker) for worker in workers), within=60)
    finally:
        if demo.returncode is None:
            demo.kill()
            demo.wait()
        for worker in workers:
            if not is_gone(worker):
                os.kill(worker, signal.SIGKILL)
    assert b"Traceback" not in complaint
    if ending is not signal.SIGKILL:
        assert demo.returncode == 130
        assert list(tmp_path.iterdir()) == []


def test_a_round_of_no_length_is_refused() -> None:
    run = subprocess.run([*COMMAND, "--seconds", "0"], capture_output=True, timeout=60)
    assert run.returncode == 2
    assert b"--seconds must be more than 0" in run.stderr
