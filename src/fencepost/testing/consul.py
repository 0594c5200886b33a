"""Consul under test: a single agent, an encrypted one, one that wants a token, or a cluster of servers."""

import http.client
import json
import ssl
import time
from collections.abc import Mapping, Sequence
from functools import cache
from types import TracebackType
from typing import Any, Self

from fencepost.testing.binary import find_built
from fencepost.testing.certificate import own_certificate
from fencepost.testing.condition import until
from fencepost.testing.port import free_port
from fencepost.testing.server import ServerDown, ServerProcess, quick_folder

# Far below what a server allows by default (10 s), so that tests can wait for the end of a session.
LEAST_TTL = "100ms"
# How many seconds three servers may take on a busy machine to elect the first leader.
UP = 60.0
# How many seconds an agent may take to answer.
ANSWERED = 20.0
LOOK_AGAIN = 0.02


class Agent(ServerProcess):
    """One agent in server mode. `port` is where it speaks HTTP, `rpc` where servers know it."""

    def __init__(self, settings: Mapping[str, Any], *, dev: bool = True, alone: bool = True) -> None:
        folder = quick_folder("fencepost-consul-")
        ports = settings["ports"]
        self.rpc = ports["server"]
        self.port = max(ports["http"], ports.get("https", -1))
        self.token = settings.get("acl", {}).get("tokens", {}).get("initial_management", "")
        https = settings.get("tls", {}).get("https", {})
        self.certificate, self.key = https.get("cert_file"), https.get("key_file")
        (folder / "agent.json").write_text(json.dumps(settings))
        argv = [find_built("consul"), "agent", "-config-file", "{folder}/agent.json"]
        argv += ["-dev"] if dev else ["-data-dir", "{folder}/data"]
        super().__init__(argv, ready=_serving if alone else _listening, folder=folder, timeout=UP)
        # Made here for the settings, and to be removed with the rest.
        self._own_folder = True

    def call(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """The status and what the agent answers, from JSON where it is that."""
        connection: http.client.HTTPConnection
        if self.certificate is None:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=ANSWERED)
        else:
            context = ssl.create_default_context(cafile=self.certificate)
            # For an agent that wants to know who calls.
            context.load_cert_chain(self.certificate, self.key)
            connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=ANSWERED, context=context)
        try:
            headers = {"X-Consul-Token": self.token} if self.token else {}
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            response = connection.getresponse()
            text = response.read()
        finally:
            connection.close()
        try:
            return response.status, json.loads(text)
        except ValueError:
            return response.status, text.decode(errors="replace")

    def sessions(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.call("GET", "/v1/session/list")[1]
        return found

    def keys(self) -> list[str]:
        status, found = self.call("GET", "/v1/kv/?keys")
        return found if status == 200 else []

    def empty(self) -> None:
        """Leave neither keys nor sessions, nor the lock delay of what a session had that is ended before its keys."""
        self.call("DELETE", "/v1/kv/?recurse")
        for session in self.sessions():
            self.call("PUT", f"/v1/session/destroy/{session['ID']}")
        self.call("DELETE", "/v1/kv/?recurse")


def settings(number: int = 0, **more: Any) -> dict[str, Any]:
    """What every agent is told: speak on loopback and on free ports only, and let sessions be short."""
    ports = {"dns": -1, "grpc": -1, "grpc_tls": -1, "serf_wan": -1}
    ports |= {kind: free_port() for kind in ("http", "serf_lan", "server")}
    return {
        "node_name": f"node-{number}",
        "bind_addr": "127.0.0.1",
        "client_addr": "127.0.0.1",
        "ports": ports | more.pop("ports", {}),
        "session_ttl_min": LEAST_TTL,
        "disable_update_check": True,
        "log_level": "warn",
        "performance": {"raft_multiplier": 1},
        **more,
    }


def _serving(agent: ServerProcess) -> bool:
    """It has a leader, and knows itself well enough to open a session."""
    assert isinstance(agent, Agent)
    try:
        status, made = agent.call("PUT", "/v1/session/create", {"TTL": "10s"})
        if status == 200:
            agent.call("PUT", f"/v1/session/destroy/{made['ID']}")
        return status == 200
    except (OSError, http.client.HTTPException):
        return False


def _listening(agent: ServerProcess) -> bool:
    assert isinstance(agent, Agent)
    try:
        return agent.call("GET", "/v1/status/leader")[0] in (200, 500)
    except (OSError, http.client.HTTPException):
        return False


# Started once for each process that runs tests, and ended with it: emptying them is quicker than starting them.


@cache
def shared_agent() -> Agent:
    agent = Agent(settings())
    agent.start()
    return agent


@cache
def shared_tls() -> Agent:
    """One that speaks HTTPS only, and shows a certificate of its own making."""
    certificate, key = own_certificate()
    tls = {"https": {"cert_file": str(certificate), "key_file": str(key)}}
    agent = Agent(settings(tls=tls, ports={"http": -1, "https": free_port()}))
    agent.start()
    return agent


class Cluster:
    """Servers that elect a leader, with their data on disk. With `cleanup` they remove one that died, as by default."""

    def __init__(self, count: int = 3, *, cleanup: bool = False) -> None:
        every = [settings(number, server=True, bootstrap_expect=count) for number in range(count)]
        self._joined = [f"127.0.0.1:{each['ports']['serf_lan']}" for each in every]
        # A member that is stopped stays a voter: without it, the next one that stops would take the majority with it.
        autopilot = {} if cleanup else {"cleanup_dead_servers": False}
        more = {"retry_join": self._joined, "retry_interval": "1s", "autopilot": autopilot}
        self.members = [Agent({**each, **more}, dev=False, alone=False) for each in every]

    def __enter__(self) -> Self:
        try:
            for member in self.members:
                member.start()
            self.settle()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def hosts(self) -> str:
        return ",".join(f"127.0.0.1:{member.port}" for member in self.members)

    def client(self) -> Agent:
        """An agent of theirs that is no server; not started yet."""
        number = len(self.members)
        return Agent(settings(number, server=False, retry_join=self._joined, retry_interval="1s"), dev=False)

    def settle(self, members: Sequence[Agent] | None = None) -> None:
        """Return once a session can be opened at each of these members, of all if none is named."""
        deadline = time.monotonic() + UP
        for member in members or self.members:
            while not _serving(member):
                if time.monotonic() > deadline:
                    raise ServerDown(f"no leader in {UP:g} s; the end of a log:\n{member.tail()}")
                time.sleep(LOOK_AGAIN)

    def repair(self) -> None:
        """All up, and with a leader, whatever was done to them."""
        for member in self.members:
            if member.running:
                member.resume()
            else:
                member.start()
        self.settle()

    def leader(self) -> Agent:
        """Who leads, as the members that run see it; once there is one."""
        found: list[Agent] = []

        def known() -> bool:
            found[:] = self._leaders()
            return bool(found)

        until(known, UP)
        return found[0]

    def _leaders(self) -> list[Agent]:
        for member in self.members:
            if not member.running:
                continue
            try:
                _, address = member.call("GET", "/v1/status/leader")
            except (OSError, http.client.HTTPException):
                continue
            if found := [each for each in self.members if address == f"127.0.0.1:{each.rpc}"]:
                return found
        return []

    def followers(self) -> list[Agent]:
        leader = self.leader()
        return [member for member in self.members if member is not leader]

    def close(self) -> None:
        for member in self.members:
            member.close()


@cache
def shared_cluster() -> Cluster:
    """Three servers, started once for each process that runs tests, and ended with it."""
    return Cluster().__enter__()
