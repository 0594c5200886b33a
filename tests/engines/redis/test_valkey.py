"""The laws that lean on the server most, on Valkey."""

from collections.abc import Iterator

import pytest

from fencepost.testing.contract import CHAPTERS, Site
from fencepost.testing.contract.redis import RedisPyLock
from fencepost.testing.redis import command, shared_valkey

pytestmark = pytest.mark.slow


@pytest.fixture(params=["redis"])
def site() -> Iterator[Site]:
    import redis

    clients: list[redis.Redis] = []
    port = shared_valkey()
    command(port, "FLUSHALL")
    yield Site(
        f"redis://127.0.0.1:{port}",
        ttl=1.2,
        neighbours={"redis-py": lambda site, name: RedisPyLock(lambda: redis.Redis(port=port), clients, site, name)},
    )
    for client in clients:
        client.close()


for chapter in CHAPTERS:
    if chapter.law in ("token", "waiting", "neighbour"):
        globals()[chapter.test_name] = chapter.tests
