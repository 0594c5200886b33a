"""etcd under test: one server, encrypted, with users, or a cluster of three."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Self

from fencepost.core.url import parse_url
from fencepost.drivers.etcd import request
from fencepost.drivers.etcd._sync.client import Client
from fencepost.drivers.etcd.endpoint import Endpoints
from fencepost.errors import EngineError
from fencepost.testing.binary import find_binary, find_built
from fencepost.testing.certificate import own_certificate
from fencepost.testing.condition import until
from fencepost.testing.port import free_port
from fencepost.testing.server import Ready, ServerProcess, listening, quick_folder

# Elections within half a second, so that a lease of one second is granted as such.
TIMING = ("--heartbeat-interval", "50", "--election-timeout", "500")
QUIET = ("--logger", "zap", "--log-level", "error")
# How many seconds a server may take on a busy machine: to be up, and to answer.
UP = 60.0
ANSWERED = 20.0


def packaged_etcd() -> str:
    """The etcd on PATH, such as Debian's."""
    return find_binary("etcd", "etcd-server")


def built_etcd() -> str:
    """The current etcd where it was built, else the one on PATH."""
    return find_built("etcd")


class EtcdServer(ServerProcess):
    """A server whose folder is in `place`, by default in memory where that is possible, and is removed at the end."""

    def __init__(self, argv: Sequence[str | os.PathLike[str]], *, ready: Ready, place: Path | None = None) -> None:
        prefix = "fencepost-etcd-"
        folder = quick_folder(prefix) if place is None else Path(tempfile.mkdtemp(prefix=prefix, dir=place))
        super().__init__(argv, ready=ready, folder=folder, timeout=UP)

    def close(self) -> None:
        # Nothing of it is needed any more, and a member asked to end would first look for an heir.
        self.kill()
        super().close()
        shutil.rmtree(self.folder, ignore_errors=True)


def client(*ports: int, url: str = "", patience: float = ANSWERED) -> Client:
    """A client of the members that listen there."""
    return Client(Endpoints(parse_url(url or f"etcd://{','.join(f'127.0.0.1:{port}' for port in ports)}")), patience)


def empty(port: int, url: str = "") -> None:
    """Delete every key."""
    speaker = client(port, url=url)
    try:
        speaker.commit(request.transaction([], [request.delete(b"\0", b"\0")]))
    finally:
        speaker.close()


def serves(url: str) -> bool:
    """Whether it answers, which takes a leader."""
    speaker = client(url=url, patience=1.0)
    try:
        speaker.read(request.select(b"any"))
    except EngineError:
        return False
    finally:
        speaker.close()
    return True


def etcd_server(
    *options: str, port: int | None = None, binary: str | None = None, place: Path | None = None
) -> ServerProcess:
    """One server on a free port, not started yet."""
    port = port or free_port()
    url = f"etcd://127.0.0.1:{port}"
    return _server(port, free_port(), "one", "", options, binary, ready=lambda _: serves(url), place=place)


def _server(
    port: int,
    peer: int,
    name: str,
    cluster: str,
    options: Sequence[str],
    binary: str | None,
    *,
    ready: Ready,
    place: Path | None = None,
) -> ServerProcess:
    scheme = "https" if "--cert-file" in options else "http"
    where = f"{scheme}://127.0.0.1:{port}"
    among = f"http://127.0.0.1:{peer}"
    argv = [binary or packaged_etcd(), "--name", name, "--data-dir", "{folder}/data", *TIMING, *QUIET]
    argv += ["--listen-client-urls", where, "--advertise-client-urls", where]
    argv += ["--listen-peer-urls", among, "--initial-advertise-peer-urls", among]
    argv += ["--initial-cluster", cluster or f"{name}={among}", *options]
    return EtcdServer(argv, ready=ready, place=place)


def port_of(server: ServerProcess) -> int:
    return int(server.argv[server.argv.index("--listen-client-urls") + 1].rpartition(":")[2])


class Cluster:
    """Three servers, or as many as asked for, as a context manager."""

    def __init__(self, size: int = 3, *, binary: str | None = None) -> None:
        names = [f"member{number}" for number in range(size)]
        peers = [free_port() for _ in names]
        self.ports = [free_port() for _ in names]
        cluster = ",".join(f"{name}=http://127.0.0.1:{peer}" for name, peer in zip(names, peers, strict=True))
        self.servers = [
            # A member does not serve before there is a majority: it is up when its peers can reach it.
            _server(port, peer, name, cluster, (), binary, ready=listening(peer))
            for name, port, peer in zip(names, self.ports, peers, strict=True)
        ]
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            for server in self.servers:
                stack.enter_context(server)
            self.until_serving()
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    @property
    def url(self) -> str:
        return f"etcd://{','.join(f'127.0.0.1:{port}' for port in self.ports)}"

    def until_serving(self) -> None:
        """Until every member answers, which takes a leader."""
        for port in self.ports:
            until(lambda port=port: serves(f"etcd://127.0.0.1:{port}"), UP)  # type: ignore[misc]

    def repair(self) -> None:
        """All up and serving, whatever was done to them."""
        for server in self.servers:
            if server.running:
                server.resume()
            else:
                server.start()
        self.until_serving()

    def leader(self) -> int:
        """Which of the servers leads."""
        found: list[int] = []

        def known() -> bool:
            found.extend(number for number in range(len(self.servers)) if self._leads(number))
            return bool(found)

        until(known, UP)
        return found[-1]

    def _leads(self, number: int) -> bool:
        if not self.servers[number].running:
            return False
        speaker = client(self.ports[number], patience=0.5)
        try:
            status = speaker.status()
        except EngineError:
            return False
        finally:
            speaker.close()
        return status.leader == status.member


# Started once for each process that runs tests, and ended with it: emptying them is quicker than starting them.


@cache
def shared_server() -> int:
    server = etcd_server()
    server.start()
    _kept.append(server)
    return port_of(server)


@cache
def shared_tls() -> tuple[int, str]:
    """The port, and the certificate that it shows and we trust."""
    certificate, key = own_certificate()
    port = free_port()
    options = ("--cert-file", str(certificate), "--key-file", str(key))
    url = f"etcds://127.0.0.1:{port}?ca={certificate}"
    server = _server(port, free_port(), "one", "", options, None, ready=lambda _: serves(url))
    server.start()
    _kept.append(server)
    return port, str(certificate)


@cache
def shared_cluster() -> Cluster:
    """Three members of the current etcd, where it was built."""
    return Cluster(binary=built_etcd()).__enter__()


_kept: list[ServerProcess] = []


def etcdctl(*words: str) -> "subprocess.Popen[str]":
    """etcd's own command line, started."""
    # It gives a server five seconds by itself, and a busy machine may take them.
    argv = [find_binary("etcdctl", "etcd-client"), "--dial-timeout", "60s", "--command-timeout", "60s", *words]
    environment = {**os.environ, "ETCDCTL_API": "3"}
    return subprocess.Popen(argv, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
