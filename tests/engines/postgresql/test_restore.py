"""Tokens of a server whose files are older than it knows."""

import shutil
import subprocess

import pytest

import fencepost
from fencepost.testing.postgresql import PostgresqlServer, query

from .conftest import at


@pytest.mark.slow
@pytest.mark.parametrize("ahead", [0, 1 << 33], ids=["by the clock", "ahead of the clock"])
def test_tokens_go_on_after_the_files_of_a_stopped_server_were_restored(
    server: PostgresqlServer, scheme: str, ahead: int
) -> None:
    """However soon, and also if an earlier crash has moved them ahead of the clock."""
    url, data, copy = at(server.port, scheme), server.folder / "data", server.folder / "copy"

    def tokens(count: int) -> list[int]:
        with fencepost.connect(url, ttl=60) as session:
            found = []
            for _ in range(count):
                with session.lock("a", timeout=60) as grant:
                    found.append(grant.token)
            return found

    before = tokens(1)
    query(server.port, "SELECT setval('fencepost.token', %s)", before[0] + ahead)
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
