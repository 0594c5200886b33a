"""Random lives on a real server, compared with the model."""

from fencepost.testing.postgresql import USER, query, shared_server
from tests.support.life import lives


def _url(store: str) -> str:
    port = shared_server()
    query(port, "DROP SCHEMA IF EXISTS machine CASCADE")
    return f"postgresql://{USER}@127.0.0.1:{port}/postgres?schema=machine"


TestPostgresql, TestAsyncPostgresql = lives("postgresql", _url, examples=10)
