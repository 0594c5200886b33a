"""A holder of an advisory lock, on a platform that lacks calls, whose connection the server ends."""

import sys

from tests.support.platform.lack import remove

END = """SELECT pg_terminate_backend(pid) FROM (SELECT DISTINCT pid FROM pg_locks WHERE locktype = 'advisory') AS holder
WHERE pid <> pg_backend_pid()"""

if __name__ == "__main__":
    remove(sys.argv[1])

    import psycopg

    import fencepost

    url = sys.argv[2]
    session = fencepost.connect(url, ttl=60.0)
    grant = session.lock("platform").acquire(timeout=60)
    grant.check()
    with psycopg.connect(url.replace("+advisory", ""), autocommit=True) as server:
        assert server.execute(END).fetchall()
    # Long before the lease is renewed.
    assert grant.lost.wait(10), "nobody told the holder"
