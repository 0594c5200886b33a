"""What a redlock:// URL may say."""

from contextlib import ExitStack
from pathlib import Path

import pytest

import fencepost
from fencepost.core.url import parse_url
from fencepost.engines.redis.redlock._sync.engine import RedlockEngine
from fencepost.engines.redis.redlock.roster import roster
from fencepost.testing.binary import find_binary
from fencepost.testing.certificate import make_certificate
from fencepost.testing.port import free_port
from fencepost.testing.redis import command, port_of
from fencepost.testing.server import ServerProcess, listening
from tests.support.engine import engine_as

from .conftest import StartNodes, url_of


@pytest.mark.unit
def test_user_password_database_and_prefix_are_those_of_every_node() -> None:
    found = roster(parse_url("redlock://me:secret@one,two:7000,three/4?prefix=locks:"), 3.0)
    assert [(node.host, node.port) for node in found.nodes] == [("one", 6379), ("two", 7000), ("three", 6379)]
    assert {(node.username, node.password, node.db) for node in found.nodes} == {("me", "secret", 4)}
    assert found.prefix == "locks:"


@pytest.mark.unit
@pytest.mark.parametrize(("count", "majority"), [(3, 2), (4, 3), (5, 3), (6, 4)])
def test_a_majority_is_more_than_half_also_of_an_even_number(count: int, majority: int) -> None:
    assert roster(parse_url(f"redlock://{','.join(f'node{n}' for n in range(count))}"), 3.0).majority == majority


@pytest.mark.unit
@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("redlock://one", "names 1 of the at least 3 servers"),
        ("redlock://one,two", "use redis:// for one"),
        ("redlock://one,two:6379,two", "names the server two:6379 twice"),
        ("redlock://one,two,three?wait_replicas=1", "unknown option 'wait_replicas'"),
        ("redlock://one,two,three?node_timeout=soon", "a number of seconds above 0, not 'soon'"),
        ("redlock://one,two,three?node_timeout=0", "a number of seconds above 0"),
        ("redlock://one,two,three/first", "database 'first'"),
        ("redlock://one,two,three?tls=yes&ca=/nowhere.pem", "can not be read"),
    ],
)
def test_a_url_that_can_not_work_is_refused_at_once(url: str, words: str) -> None:
    with pytest.raises(ValueError, match=words.replace("?", r"\?")):
        fencepost.connect(url)


@pytest.mark.unit
def test_a_node_never_has_longer_than_a_call_may_take() -> None:
    nodes = "redlock://one,two,three"
    assert roster(parse_url(nodes), 3.0).timeout == 1.5
    assert roster(parse_url(f"{nodes}?node_timeout=0.05"), 3.0).timeout == 0.05
    assert roster(parse_url(f"{nodes}?node_timeout=9"), 3.0).timeout == 3.0


def test_a_password_opens_every_node_and_a_wrong_one_is_refused(start_nodes: StartNodes) -> None:
    nodes = start_nodes(3, "--requirepass", "secret")
    with fencepost.connect(url_of(nodes).replace("//", "//:secret@", 1) + "/2") as session, session.lock("a"):
        assert session.lock("a").try_acquire() is None
    wrong = fencepost.connect(url_of(nodes).replace("//", "//:wrong@", 1))
    with pytest.raises(fencepost.Refused, match=r"WRONGPASS.*check the user and password"):
        wrong.lock("a").acquire(timeout=0)
    wrong.close()


@pytest.mark.slow
async def test_encrypted_nodes_are_met_in_both_flavours(tmp_path: Path) -> None:
    certificate, key = tmp_path / "server.crt", tmp_path / "server.key"
    make_certificate(certificate, key)
    shown = ("--tls-cert-file", str(certificate), "--tls-key-file", str(key), "--tls-ca-cert-file", str(certificate))
    with ExitStack() as stack:
        ports = []
        for _ in range(3):
            ports.append(free_port())
            argv = [find_binary("redis-server", "redis-server"), "--port", "0", "--save", "", "--dir", "{folder}"]
            argv += ["--tls-port", str(ports[-1]), *shown, "--tls-auth-clients", "no"]
            stack.enter_context(ServerProcess(argv, ready=listening(ports[-1])))
        url = f"redlock://{','.join(f'127.0.0.1:{port}' for port in ports)}?tls=yes&ca={certificate}"
        with fencepost.connect(url) as session, session.lock("a", timeout=60) as first:
            assert session.lock("a").try_acquire() is None
        async with fencepost.connect_async(url) as other, other.lock("a", timeout=60) as second:
            assert second.token > first.token


def test_a_key_that_is_no_lock_is_left_alone(nodes: list[ServerProcess]) -> None:
    for node in nodes:
        command(port_of(node), "HSET", "a", "field", "value")
    with fencepost.connect(url_of(nodes)) as session:
        with pytest.raises(fencepost.Refused, match="that is no lock"):
            session.lock("a").acquire(timeout=0)
        # Nor is it sent along with every renewal for ever.
        (lease,) = engine_as(session, RedlockEngine)._leases.values()
        assert lease.entries == lease.leaving == {}
    assert all(command(port_of(node), "HGET", "a", "field") == b"value" for node in nodes)
