"""PostgreSQL under test: one server in a folder of its own, on a free port."""

import os
import shutil
import signal
import subprocess
import tempfile
from functools import cache
from pathlib import Path

from fencepost.testing.binary import find_binary
from fencepost.testing.port import free_port
from fencepost.testing.server import Ready, ServerProcess, logged
from fencepost.testing.user import as_user, hand_over

FOLDERS = ("/usr/lib/postgresql/*/bin",)
READY = "database system is ready to accept connections"


def postgresql_server(*options: str, port: int | None = None) -> "PostgresqlServer":
    """One server with an empty database, not started yet. `options` as on its command line."""
    return PostgresqlServer(port or free_port(), options)


class PostgresqlServer(ServerProcess):
    """A server on 127.0.0.1 that trusts everybody there."""

    def __init__(self, port: int, options: tuple[str, ...]) -> None:
        self.port = port
        folder = Path(tempfile.mkdtemp(prefix="fencepost-postgresql-"))
        binary = find_binary("postgres", "postgresql", folders=FOLDERS)
        data = folder / "data"
        hand_over(folder)
        subprocess.run(
            as_user([str(Path(binary).parent / "initdb"), "-D", str(data), "-U", "postgres", "-A", "trust", "-N"]),
            env={**os.environ, "LC_ALL": "C.UTF-8"},
            cwd=folder,
            check=True,
            stdout=subprocess.DEVNULL,
        )
        quiet = ("-c", "fsync=off", "-c", f"unix_socket_directories={folder}", "-c", "listen_addresses=127.0.0.1")
        ready: Ready = logged(READY)
        argv = as_user([binary, "-D", str(data), "-p", str(port), *quiet, *options])
        super().__init__(argv, ready=ready, folder=folder)

    @property
    def url(self) -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}/postgres"

    def start(self) -> None:
        # A log of an earlier run would say that this one is ready.
        self.log.unlink(missing_ok=True)
        super().start()

    def stop(self, timeout: float = 10.0) -> None:
        if self.running:
            # Not SIGTERM, at which it would wait until all its clients have gone.
            self.resume()
            os.kill(self.pid, signal.SIGINT)
        super().stop(timeout)

    def close(self) -> None:
        super().close()
        shutil.rmtree(self.folder, ignore_errors=True)


@cache
def shared_postgresql() -> PostgresqlServer:
    """Started once for each process that runs tests, and ended with it."""
    server = postgresql_server()
    server.start()
    return server
