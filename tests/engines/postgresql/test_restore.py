"""Tokens of a server whose files are older than it knows."""

import shutil
import subprocess

import pytest

import fencepost
from fencepost.testing.postgresql import PostgresqlServer

from .conftest import at


@pytest.mark.slow
def test_tokens_go_on_after_the_files_of_a_stopped_server_were_restored(server: PostgresqlServer, scheme: str) -> None:
    url, data, copy = at(server.port, scheme), server.folder / "data", server.folder / "copy"

    def tokens(count: int) -> list[int]:
        with fencepost.connect(url, ttl=60) as session:
            found = []
            for _ in range(count):
                with session.lock("a", timeout=60) as grant:
                    found.append(grant.token)
            return found

    before = tokens(1)
    server.stop()
    # With their owner, who is not ours.
    subprocess.run(["cp", "-a", data, copy], check=True)
    server.start()
    after_backup = tokens(100)
    server.stop()
    shutil.rmtree(data)
    copy.rename(data)
    server.start()
    found = [*before, *after_backup, *tokens(2)]
    assert found == sorted(set(found))
