"""The sites of Consul, and the real `consul lock` as the neighbour."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fencepost.testing.binary import find_built
from fencepost.testing.consul import Agent, shared_agent, shared_tls
from fencepost.testing.contract.site import Site

LONGEST = 20
# Longer than elsewhere: a request to an agent on a busy machine takes its time, and has a third of this for it.
TTL = 1.2


class ConsulLock:
    """`consul lock NAME sh -c …`: it holds the name while the child runs, and the child runs until its input ends."""

    def __init__(self, agent: Agent, name: str) -> None:
        scheme = "http" if agent.certificate is None else "https"
        self._argv = [find_built("consul"), "lock", f"-http-addr={scheme}://127.0.0.1:{agent.port}"]
        if agent.certificate is not None:
            self._argv.append(f"-ca-file={agent.certificate}")
        if agent.token:
            self._argv.append(f"-token={agent.token}")
        self._name = name
        self._process: subprocess.Popen[str] | None = None

    def try_acquire(self) -> bool:
        argv = [*self._argv, "-try=100ms", "-pass-stdin", self._name, "echo held; read line"]
        self._process = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        assert self._process.stdout is not None
        if self._process.stdout.readline() == "held\n":
            return True
        self.release()
        return False

    def release(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.communicate("\n", timeout=LONGEST)


@contextmanager
def site(scheme: str) -> Iterator[Site]:
    """An agent of that scheme, emptied."""
    agent = shared_agent() if scheme == "consul" else shared_tls()
    agent.empty()
    options = "session_ttl_min=0.1"
    if agent.certificate is not None:
        options += f"&ca={Path(agent.certificate)}"
    url = f"{scheme}://127.0.0.1:{agent.port}?{options}"
    yield Site(url, ttl=TTL, neighbours={"consul lock": lambda site, name: ConsulLock(agent, name)})
