"""The sites of Consul, and the real `consul lock` as the neighbour."""

import subprocess
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from fencepost.engines.consul.key import AUDIT
from fencepost.engines.consul.transaction import LOCK_FLAG
from fencepost.testing.binary import find_built
from fencepost.testing.condition import until
from fencepost.testing.consul import Agent, shared_agent, shared_tls
from fencepost.testing.contract.hostile import VALUES
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
    _await_delay(agent)
    options = "session_ttl_min=0.1"
    if agent.certificate is not None:
        options += f"&ca={Path(agent.certificate)}"
    url = f"{scheme}://127.0.0.1:{agent.port}?{options}"
    neighbours = {"consul lock": lambda site, name: ConsulLock(agent, name)}
    yield Site(url, ttl=TTL, neighbours=neighbours, strangers=strangers(agent))


def _await_delay(agent: Agent) -> None:
    """The lease of one that a test before left to end by itself keeps others out for a while after it."""
    _, session = agent.call("PUT", "/v1/session/create", {"TTL": "60s", "LockDelay": "0s"})
    until(lambda: agent.call("PUT", f"/v1/kv/a/.lock?acquire={session['ID']}")[1] is True)
    agent.empty()


def strangers(agent: Agent) -> dict[str, Callable[[Site, str], None]]:
    # Of one that would stand in line, if it were ours.
    almost = b'{"fencepost":1,"holder":"h","label":"l","serial":1,"ttl":1,"at":%b,"granted":true,"asks":%b}'
    found = VALUES | {
        "asks of no kind": almost % (b"1", b"[1]"),
        "a time of no size": almost % (b"9" * 400, b'[["a","shared",1,1,""]]'),
        "another name": almost % (b"1", b'[["another","shared",1,1,""]]'),
        "a name that is none": almost % (b"1", b'[["\\ud800","shared",1,1,""]]'),
    }
    return {title: partial(_leave, agent, value=value) for title, value in found.items()}


def _leave(agent: Agent, site: Site, name: str, value: bytes) -> None:
    """As the lock and in the queue, both locked by a session, and as the record of evictions."""
    _, session = agent.call("PUT", "/v1/session/create", {"TTL": "600s", "LockDelay": "0s", "Behavior": "delete"})
    text, lock = b64encode(value).decode(), f"{name}/.lock"
    work = [
        {"KV": {"Verb": "lock", "Key": lock, "Value": text, "Session": session["ID"], "Flags": LOCK_FLAG}},
        {"KV": {"Verb": "lock", "Key": f"{lock}/h-1", "Value": text, "Session": session["ID"]}},
        {"KV": {"Verb": "set", "Key": f"{lock}/stray", "Value": text}},
        {"KV": {"Verb": "set", "Key": AUDIT, "Value": text}},
    ]
    status, told = agent.call("PUT", "/v1/txn", work)
    assert status == 200, told
