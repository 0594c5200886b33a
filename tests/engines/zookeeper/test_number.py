"""A lock that was asked for as often as a server of ZooKeeper counts: 2,147,483,647 times."""

import struct
import zlib
from collections.abc import Iterator

import pytest

import fencepost
from fencepost import Refused
from fencepost.engines.zookeeper.contender import Recipe
from fencepost.testing.condition import until
from fencepost.testing.zookeeper import UP, ZookeeperServer

LASTING = 600.0
LAST = 2**31 - 1
FIRST_NODE = b"__lock__0000000000"


def count_to(server: ZookeeperServer, number: int) -> None:
    """Have the server believe that its one lock was asked for so often, by its log of transactions."""
    (log,) = (server.folder / "data" / "version-2").glob("log.*")
    data, at = bytearray(log.read_bytes()), 16
    while (length := struct.unpack_from(">qi", data, at)[1]) > 0:
        start = at + 12
        body = bytes(data[start : start + length])
        if FIRST_NODE in body and b"anyone" in body:
            # Behind the rights and whether it is ephemeral: how often the node above has changed by then.
            place = body.rindex(b"anyone") + 7
            body = body[:place] + struct.pack(">i", number) + body[place + 4 :]
            data[start : start + length] = body
            struct.pack_into(">q", data, at, zlib.adler32(body))
        at = start + length + 1
    log.write_bytes(data)


@pytest.fixture
def counted() -> Iterator[str]:
    with ZookeeperServer() as server:
        until(lambda: server.mode, UP)
        url = f"zookeeper://127.0.0.1:{server.port}"
        with fencepost.connect(url, ttl=LASTING) as session:
            held = session.lock("a").acquire()
            server.kill()
            count_to(server, LAST - 1)
            server.start()
            until(lambda: server.mode, UP)
            held.release()
            yield url


@pytest.mark.slow
def test_nobody_is_granted_what_the_server_has_no_number_for(counted: str) -> None:
    with fencepost.connect(counted, ttl=LASTING) as one, fencepost.connect(counted, ttl=LASTING) as two:
        last = one.lock("a").acquire()
        for _ in range(3):
            with pytest.raises(Refused, match="counted to the end for 'a'"):
                two.lock("a").try_acquire()
        assert len(two.look("a").holders) == 1
        last.release()
        # From here on the server gives everybody the same number.
        for session in (one, two):
            with pytest.raises(Refused, match="counted to the end for 'a'"):
                session.lock("a").acquire(timeout=LASTING)
        assert two.names() == []


@pytest.mark.unit
@pytest.mark.parametrize("kind", ["kazoo", "curator"])
@pytest.mark.parametrize("number", [LAST, -(2**31), -1])
def test_a_number_past_the_last_is_a_contender_s_and_tells_no_order(kind: str, number: int) -> None:
    mark = {"kazoo": "__lock__", "curator": "lock-"}[kind]
    (found,) = Recipe(kind).line([f"ab-1-x-{mark}{number:010}".encode()], "a")
    assert found.owner == ("ab", 1)
    assert found.sequence >= LAST
    assert not found.is_in_order
