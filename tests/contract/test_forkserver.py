"""The processes of the contract suite: forks of one that is ready, and as mortal as children of the tests."""

import json
import signal
from pathlib import Path

from fencepost.testing.condition import until
from fencepost.testing.contract._sync.puppet import PROGRAM, Puppet
from fencepost.testing.contract.forkserver import ForkServer
from fencepost.testing.contract.site import Site

URL = "memory://forked"


def state_of(pid: int) -> str:
    """As the kernel says it: Z is a zombie, T stopped; empty if there is no such process."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return ""


def test_each_puppet_is_a_process_of_its_own() -> None:
    with Puppet(Site(URL), "one") as one, Puppet(Site(URL), "two") as two:
        tokens = [puppet.ask("acquire", name="a", timeout=0)["token"] for puppet in (one, two)]
        assert len(tokens) == 2


def test_a_killed_worker_is_a_zombie_until_it_is_waited_for() -> None:
    server = ForkServer()
    worker = server.fork(PROGRAM, URL, "victim", 60.0)
    pid = json.loads(worker.stdout.readline())["pid"]
    worker.kill()
    until(lambda: state_of(pid) == "Z")
    assert worker.wait() == worker.wait() == -signal.SIGKILL
    assert state_of(pid) == ""
    worker.kill()
    worker.close()
    server.close()


def test_a_stopped_worker_ends_with_the_tests() -> None:
    server = ForkServer()
    worker = server.fork(PROGRAM, URL, "stopped", 60.0)
    pid = json.loads(worker.stdout.readline())["pid"]
    worker.send_signal(signal.SIGSTOP)
    until(lambda: state_of(pid) == "T")
    server.close()
    until(lambda: state_of(pid) in ("", "Z"))
    worker.close()
