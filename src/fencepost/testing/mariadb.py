"""MariaDB under test: one server in a folder of its own, on a free port."""

import shutil
import tempfile
from functools import cache
from pathlib import Path

from fencepost.testing.binary import find_binary
from fencepost.testing.port import free_port
from fencepost.testing.server import ServerProcess, logged
from fencepost.testing.user import as_user, hand_over

READY = "ready for connections"
# How many seconds it may take on a busy machine.
UP = 60.0


class MariadbServer(ServerProcess):
    """A server on 127.0.0.1 that lets everybody in, with no database yet."""

    def __init__(self, *options: str) -> None:
        self.port = free_port()
        folder = Path(tempfile.mkdtemp(prefix="fencepost-mariadb-"))
        data = folder / "data"
        hand_over(folder)
        # No tables of users and grants, which take ten times as long to make as the server takes to start.
        data.mkdir()
        hand_over(data)
        argv = [
            find_binary("mariadbd", "mariadb-server"),
            "--no-defaults",
            f"--datadir={data}",
            f"--port={self.port}",
            "--bind-address=127.0.0.1",
            f"--socket={folder}/socket",
            f"--pid-file={folder}/pid",
            "--innodb-flush-log-at-trx-commit=0",
            "--skip-name-resolve",
            "--skip-grant-tables",
            "--innodb-log-file-size=8M",
            "--innodb-flush-method=nosync",
            "--innodb-doublewrite=OFF",
            "--sync-frm=OFF",
            "--aria-sync-log-dir=NEVER",
            *options,
        ]
        super().__init__(as_user(argv), ready=logged(READY), folder=folder, timeout=UP)

    def close(self) -> None:
        super().close()
        shutil.rmtree(self.folder, ignore_errors=True)


@cache
def shared_mariadb() -> MariadbServer:
    """Started once for each process that runs tests, and ended with it."""
    server = MariadbServer()
    server.start()
    return server
