"""Sentinels and clusters that speak only to those who encrypt, and who know the password."""

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import pytest

import fencepost
from fencepost import FencepostError, Refused
from fencepost.engines.redis.cluster._sync.engine import ClusterEngine
from fencepost.engines.redis.key import slot_of
from fencepost.testing.binary import find_binary
from fencepost.testing.certificate import make_certificate
from fencepost.testing.port import free_port
from fencepost.testing.redis import QUIET, join_cluster, port_of
from fencepost.testing.server import ServerProcess, listening
from tests.support.engine import engine_as
from tests.support.redis.cluster import cluster_of

from .conftest import StartServer


class Papers(NamedTuple):
    certificate: Path
    key: Path

    @property
    def settings(self) -> dict[str, str]:
        certificate = str(self.certificate)
        return {
            "tls-cert-file": certificate,
            "tls-key-file": str(self.key),
            "tls-ca-cert-file": certificate,
            "tls-auth-clients": "no",
        }

    @property
    def options(self) -> list[str]:
        return [word for name, value in self.settings.items() for word in (f"--{name}", value)]


@pytest.fixture(scope="module")
def papers() -> Papers:
    folder = Path(tempfile.mkdtemp(prefix="fencepost-papers-"))
    found = Papers(folder / "server.crt", folder / "server.key")
    make_certificate(found.certificate, found.key)
    return found


@pytest.fixture(scope="module")
def sentinel(papers: Papers) -> Iterator[int]:
    """One that is encrypted and has a password, before a master that is and has another."""
    master, port = free_port(), free_port()
    settings = Path(tempfile.mkdtemp(prefix="fencepost-sentinel-")) / "sentinel.conf"
    lines = [
        f"port 0\ntls-port {port}\ntls-replication yes\nrequirepass watchword",
        *(f"{name} {value}" for name, value in papers.settings.items()),
        f"sentinel monitor service 127.0.0.1 {master} 1\nsentinel auth-pass service secret\n",
    ]
    settings.write_text("\n".join(lines))
    secret = ["--port", "0", "--tls-port", str(master), "--requirepass", "secret", *papers.options]
    with ExitStack() as stack:
        argv = [find_binary("redis-server", "redis-server"), *QUIET, *secret]
        stack.enter_context(ServerProcess(argv, ready=listening(master)))
        argv = [find_binary("redis-sentinel", "redis-sentinel"), str(settings)]
        stack.enter_context(ServerProcess(argv, ready=listening(port)))
        yield port


def test_a_sentinel_and_its_master_are_reached_encrypted_each_with_its_password(sentinel: int, papers: Papers) -> None:
    url = f"redis+sentinel://:secret@127.0.0.1:{sentinel}/service?tls=yes&ca={papers.certificate}"
    with fencepost.connect(f"{url}&sentinel_password=watchword") as session, session.lock("a", timeout=60) as grant:
        assert session.look("a").holders[0].claim.token == grant.token


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("&sentinel_password=watchword", ""), "NOAUTH"),
        (("=watchword", "=wrong"), "WRONGPASS"),
        ((":secret@", ":wrong@"), "WRONGPASS"),
    ],
)
def test_what_is_wrong_with_a_sentinels_url_is_said(
    sentinel: int, papers: Papers, change: tuple[str, str], said: str
) -> None:
    url = f"redis+sentinel://:secret@127.0.0.1:{sentinel}/service?tls=yes&ca={papers.certificate}"
    with pytest.raises(FencepostError, match=said):
        fencepost.connect(f"{url}&sentinel_password=watchword".replace(*change), ttl=60).lock("a").acquire(timeout=0)


def test_a_sentinel_that_encrypts_is_not_reached_without(sentinel: int) -> None:
    url = f"redis+sentinel://:secret@127.0.0.1:{sentinel}/service?sentinel_password=watchword"
    with pytest.raises(FencepostError, match="no sentinel knows a master"):
        fencepost.connect(url, ttl=60).lock("a").acquire(timeout=0)


@pytest.mark.slow
async def test_a_cluster_is_reached_encrypted_at_each_of_its_servers(start_server: StartServer, papers: Papers) -> None:
    servers, encrypted = [], []
    for _ in range(2):
        encrypted.append(free_port())
        cluster = ("--cluster-enabled", "yes", "--tls-cluster", "yes", "--cluster-port", str(free_port()))
        servers.append(start_server(*cluster, "--tls-port", str(encrypted[-1]), *papers.options))
    join_cluster(tuple(port_of(server) for server in servers))
    url = f"redis+cluster://127.0.0.1:{encrypted[0]}"
    names = [next(str(n) for n in range(1000) if slot_of(str(n).encode()) // 8192 == half) for half in (0, 1)]
    with fencepost.connect(f"{url}?tls=yes&ca={papers.certificate}") as session:
        for name in names:
            session.lock(name).acquire(timeout=60)
        assert sorted(session.names()) == sorted(names)
        known = cluster_of(engine_as(session, ClusterEngine))._slots.values()
        assert {node.address.port for node in known} == set(encrypted)
    async with fencepost.connect_async(f"{url}?tls=yes&ca={papers.certificate}") as again:
        for name in names:
            await again.lock(name).acquire(timeout=60)
    with pytest.raises(Refused, match="certificate"):
        fencepost.connect(f"{url}?tls=yes").lock("a").acquire(timeout=0)
