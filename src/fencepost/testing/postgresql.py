"""PostgreSQL and PgBouncer under test: on loopback, in folders of their own, and never as root."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from functools import cache
from pathlib import Path

from psycopg import Connection
from psycopg.rows import TupleRow, tuple_row

from fencepost.testing.binary import find_binary
from fencepost.testing.port import free_port
from fencepost.testing.server import Ready, ServerProcess, listening
from fencepost.testing.user import as_user, hand_over

FOLDERS = ("/usr/lib/postgresql/*/bin", "/usr/local/pgsql/bin")
USER = "postgres"
# Shared memory as the kernel knows it, by the number of its segment, and with how many processes have it.
SEGMENTS = Path("/proc/sysvipc/shm")
# Nothing here has to survive a power failure, and everything should be quick. Whoever waits for an advisory lock has a
# connection of its own, and the room for locks grows with the number of connections.
QUICK = ("fsync=off", "full_page_writes=off", "max_connections=1200", "autovacuum_naptime=5s", "max_wal_size=1GB")


class PostgresqlServer(ServerProcess):
    """Its folder is made here, for another user, and removed all the same. Its children have groups of their own."""

    def __init__(self, argv: list[str], *, ready: Ready, folder: Path, port: int) -> None:
        super().__init__(argv, ready=ready, folder=folder)
        self.port = port

    @property
    def url(self) -> str:
        return f"postgresql://{USER}@127.0.0.1:{self.port}/postgres"

    def stop(self, timeout: float = 30.0) -> None:
        """SIGINT first: at SIGTERM it would wait for its clients to leave."""
        if self.running:
            self.resume()
            os.kill(self.pid, signal.SIGINT)
        super().stop(timeout)

    def kill(self) -> None:
        super().kill()
        # Those that it started are dead, but maybe not gone yet: they have the memory that its next start wants.
        while self._memory_in_use():
            time.sleep(0.005)

    def _memory_in_use(self) -> bool:
        note = self.folder / "data" / "postmaster.pid"
        words = note.read_text().splitlines()[6:7] if note.exists() else []
        segments = [line.split() for line in SEGMENTS.read_text().splitlines()[1:]]
        return any(each[1] == line.split()[1] and each[6] != "0" for line in words for each in segments)

    def close(self) -> None:
        super().close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _signal(self, number: int) -> None:
        children = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()
        super()._signal(number)
        for child in children:
            try:
                os.kill(int(child), number)
            except ProcessLookupError:
                pass


def postgresql_server(*settings: str, port: int | None = None) -> PostgresqlServer:
    """One server on a free port, not started yet. `settings` as in its configuration, where the last of each counts."""
    port = port or free_port()
    folder = _folder()
    _initialize(folder / "data")
    argv = [_binary("postgres"), "-D", str(folder / "data"), "-p", str(port)]
    for setting in ("listen_addresses=127.0.0.1", "unix_socket_directories=", *QUICK, *settings):
        argv += ["-c", setting]
    return PostgresqlServer(as_user(argv), ready=_accepts(port), folder=folder, port=port)


def pgbouncer(target: int, *, mode: str = "transaction", size: int = 5) -> PostgresqlServer:
    """A pooler before the server on port `target`, not started yet, with `size` connections to it for everybody."""
    port = free_port()
    folder = _folder()
    users, settings = folder / "users.txt", folder / "pgbouncer.ini"
    users.write_text(f'"{USER}" ""\n')
    settings.write_text(
        f"[databases]\n* = host=127.0.0.1 port={target}\n[pgbouncer]\nlisten_addr=127.0.0.1\nlisten_port={port}\n"
        f"unix_socket_dir=\nauth_type=trust\nauth_file={users}\npool_mode={mode}\ndefault_pool_size={size}\n"
        f"max_client_conn=500\n"
    )
    argv = as_user([find_binary("pgbouncer", "pgbouncer"), str(settings)])
    return PostgresqlServer(argv, ready=listening(port), folder=folder, port=port)


def port_of(server: ServerProcess) -> int:
    assert isinstance(server, PostgresqlServer)
    return server.port


def connect(port: int, database: str = "postgres", **options: str) -> "Connection[TupleRow]":
    """A plain SQL client, as other programs are."""
    words = {"host": "127.0.0.1", "port": str(port), "user": USER, "dbname": database, **options}
    return Connection.connect(**words, autocommit=True, row_factory=tuple_row)  # type: ignore[arg-type]


def query(port: int, text: str, *parameters: object, database: str = "postgres") -> list[TupleRow]:
    """The rows of one statement, on a connection of its own."""
    with connect(port, database) as connection:
        cursor = connection.execute(text.encode(), parameters or None)
        return cursor.fetchall() if cursor.description else []


# Started once for each process that runs tests, and ended with it: emptying it is quicker than starting it.


@cache
def shared_postgresql() -> PostgresqlServer:
    server = postgresql_server()
    server.start()
    return server


def shared_server() -> int:
    return shared_postgresql().port


@cache
def shared_pgbouncer() -> PostgresqlServer:
    """A pooler before the shared server, with fewer connections to it than most tests have sessions."""
    pooler = pgbouncer(shared_server(), size=4)
    pooler.start()
    return pooler


def _folder() -> Path:
    # The temporary folder of a test is often root's alone, and the server is not root.
    folder = Path(tempfile.mkdtemp(prefix="fencepost-postgresql-", dir=None if os.getuid() else "/tmp"))
    hand_over(folder)
    return folder


def _initialize(data: Path) -> None:
    argv = [_binary("initdb"), "-D", str(data), "-A", "trust", "-U", USER]
    argv += ["-E", "UTF8", "--locale=C", "--no-sync"]
    subprocess.run(as_user(argv), check=True, capture_output=True, cwd=data.parent)


def _accepts(port: int) -> Ready:
    ready = _binary("pg_isready")
    command = [ready, "-q", "-h", "127.0.0.1", "-p", str(port)]
    return lambda _: subprocess.run(command, check=False).returncode == 0


def _binary(name: str) -> str:
    return find_binary(name, "postgresql", folders=FOLDERS)
