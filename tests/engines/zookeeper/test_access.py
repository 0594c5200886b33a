"""Who we are to the servers, and who may touch our nodes: passed through from the URL, on servers that insist."""

import threading
import uuid
from collections.abc import Iterator

import pytest

import fencepost
from fencepost import Refused
from fencepost.testing.certificate import make_certificate
from fencepost.testing.condition import until
from fencepost.testing.port import free_port, is_listening
from fencepost.testing.zookeeper import UP, ZookeeperServer, shared_server
from tests.support.zookeeper.observer import Observer

LASTING = 60.0
# For what comes within seconds, on a machine that is busy with something else.
PATIENCE = 60.0
JAAS = 'Server { org.apache.zookeeper.server.auth.DigestLoginModule required user_bob="builder"; };'


@pytest.fixture
def folder() -> str:
    return uuid.uuid4().hex


def test_nodes_of_a_creator_are_its_own(folder: str) -> None:
    server = shared_server()
    where = f"127.0.0.1:{server.port}/{folder}"
    with (
        Observer(server) as observer,
        fencepost.connect(f"zookeeper://alice:secret@{where}?acl=creator", ttl=LASTING) as alice,
        fencepost.connect(
            f"zookeeper://{where}?auth=digest:alice:secret&acl=creator", ttl=LASTING, holder="again"
        ) as again,
    ):
        with alice.lock("a"):
            (node,) = observer.nodes_as("alice:secret", f"/{folder}/a")
            acls, _ = observer.client.get_acls(f"/{folder}/a/{node}")
            assert [(acl.id.scheme, acl.id.id.split(":")[0], acl.perms) for acl in acls] == [("digest", "alice", 31)]
            assert again.lock("a").try_acquire() is None
        with again.lock("a", timeout=PATIENCE):
            pass


def test_who_has_no_rights_is_refused_and_told_where_to_read(folder: str) -> None:
    where = f"127.0.0.1:{shared_server().port}/{folder}"
    with (
        fencepost.connect(f"zookeeper://alice:secret@{where}?acl=creator", ttl=LASTING) as alice,
        fencepost.connect(f"zookeeper://mallory:guess@{where}", ttl=LASTING) as mallory,
        # Held, as the server clears away the node of a lock that nobody holds.
        alice.lock("a"),
        pytest.raises(Refused, match=r"docs/engines/zookeeper\.md"),
    ):
        mallory.lock("a").acquire(timeout=0)


def test_a_list_of_rights_is_passed_on(folder: str) -> None:
    server = shared_server()
    url = f"zookeeper://alice:secret@127.0.0.1:{server.port}/{folder}?acl=world:anyone:r,auth::cdrwa"
    with Observer(server) as observer, fencepost.connect(url, ttl=LASTING) as session, session.lock("a"):
        (node,) = observer.nodes(f"/{folder}/a")
        acls, _ = observer.client.get_acls(f"/{folder}/a/{node}")
        assert sorted((acl.id.scheme, acl.perms) for acl in acls) == [("digest", 31), ("world", 1)]


def test_a_neighbour_whose_node_we_may_not_read_still_excludes_us_and_wakes_us(folder: str) -> None:
    from kazoo.client import KazooClient
    from kazoo.security import make_digest_acl

    server = shared_server()
    where = f"127.0.0.1:{server.port}"
    secret = KazooClient(
        hosts=where, auth_data=[("digest", "carol:x")], default_acl=[make_digest_acl("carol", "x", all=True)]
    )
    # Renewed, and looked after, every 30 s.
    with Observer(server) as observer, fencepost.connect(f"zookeeper://{where}/{folder}", ttl=90) as session:
        # For all, and to stay: the server clears away what we make and leave empty, and then it would be carol's.
        observer.client.ensure_path(f"/{folder}/a")
        secret.start()
        try:
            lock = secret.Lock(f"/{folder}/a")
            lock.acquire()
            assert session.lock("a").try_acquire() is None
            taken: list[fencepost.Grant] = []
            waiter = threading.Thread(target=lambda: taken.append(session.lock("a").acquire(timeout=PATIENCE)))
            waiter.start()
            until(lambda: len(session.look("a").waiters) == 1 and session.statistics().waiting == 1)
            assert len(session.look("a").holders) == 1
            lock.release()
            waiter.join(20)
            assert taken, "it was not told, and finds out when its lease is renewed"
            assert taken[0].held
        finally:
            secret.stop()
            secret.close()


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, int, str]]:
    """A server that knows bob, and also speaks TLS: its ports, plain and encrypted, and its certificate."""
    made = tmp_path_factory.mktemp("tls")
    certificate, key, both, jaas = (made / name for name in ("server.crt", "server.key", "server.pem", "jaas.conf"))
    make_certificate(certificate, key)
    both.write_text(key.read_text() + certificate.read_text())
    jaas.write_text(JAAS)
    secure = free_port()
    settings = {
        "secureClientPort": secure,
        "secureClientPortAddress": "127.0.0.1",
        "authProvider.1": "org.apache.zookeeper.server.auth.SASLAuthenticationProvider",
    }
    properties = {
        "zookeeper.serverCnxnFactory": "org.apache.zookeeper.server.NettyServerCnxnFactory",
        "zookeeper.ssl.keyStore.location": str(both),
        "zookeeper.ssl.trustStore.location": str(both),
        "zookeeper.ssl.clientAuth": "none",
        "java.security.auth.login.config": str(jaas),
    }
    with ZookeeperServer(settings=settings, properties=properties) as server:
        until(lambda: server.mode, UP)
        # The encrypted port is opened after the other.
        until(lambda: is_listening(secure), UP)
        yield server.port, secure, str(certificate)


def lock_twice(url: str) -> None:
    with fencepost.connect(url, ttl=LASTING) as first, fencepost.connect(url, ttl=LASTING) as second:
        with first.lock("a") as grant:
            assert second.lock("a").try_acquire() is None
        with second.lock("a", timeout=PATIENCE) as next_grant:
            assert next_grant.token > grant.token


async def lock_twice_async(url: str) -> None:
    async with fencepost.connect_async(url, ttl=LASTING) as first, fencepost.connect_async(url, ttl=LASTING) as second:
        async with first.lock("a") as grant:
            assert await second.lock("a").try_acquire() is None
        async with second.lock("a", timeout=PATIENCE) as next_grant:
            assert next_grant.token > grant.token


@pytest.mark.slow
async def test_tls_with_a_certificate_that_we_trust(guarded: tuple[int, int, str]) -> None:
    _, port, certificate = guarded
    lock_twice(f"zookeeper://127.0.0.1:{port}/tls?tls=yes&ca={certificate}")
    await lock_twice_async(f"zookeeper://127.0.0.1:{port}/tls?tls=yes&ca={certificate}")


@pytest.mark.slow
def test_tls_is_used_by_threads_at_once(guarded: tuple[int, int, str]) -> None:
    _, port, certificate = guarded
    with fencepost.connect(f"zookeeper://127.0.0.1:{port}/threads?tls=yes&ca={certificate}", ttl=LASTING) as session:

        def work(number: int) -> None:
            for _ in range(10):
                with session.lock(f"lock {number % 3}", timeout=PATIENCE):
                    pass

        threads = [threading.Thread(target=work, args=[number]) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE)
        assert session.statistics().granted == 60


@pytest.mark.slow
def test_tls_with_a_certificate_that_we_do_not_trust(guarded: tuple[int, int, str]) -> None:
    session = fencepost.connect(f"zookeeper://127.0.0.1:{guarded[1]}/tls?tls=yes", ttl=LASTING)
    with pytest.raises(Refused, match="certificate"):
        session.lock("a").acquire(timeout=0)
    session.close()


@pytest.mark.slow
async def test_sasl_makes_us_who_we_are(guarded: tuple[int, int, str]) -> None:
    url = f"zookeeper://bob:builder@127.0.0.1:{guarded[0]}/sasl?sasl=DIGEST-MD5&acl=sasl:bob:cdrwa"
    lock_twice(url)
    await lock_twice_async(url)
    with (
        fencepost.connect(f"zookeeper://127.0.0.1:{guarded[0]}/sasl", ttl=LASTING) as nobody,
        pytest.raises(Refused, match="no right"),
    ):
        nobody.lock("a").acquire(timeout=0)


@pytest.mark.slow
def test_sasl_with_a_wrong_password_is_refused_or_unavailable(guarded: tuple[int, int, str]) -> None:
    session = fencepost.connect(f"zookeeper://bob:breaker@127.0.0.1:{guarded[0]}/sasl?sasl=DIGEST-MD5", ttl=LASTING)
    with pytest.raises(fencepost.EngineError):
        session.lock("a").acquire(timeout=0)
    session.close()


@pytest.mark.unit
@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("acl=creator", "needs somebody"),
        ("acl=nonsense", "is no ACL"),
        ("auth=digest", "auth=digest:user:password"),
        ("sasl=PLAIN", "choose from DIGEST-MD5, GSSAPI"),
        ("recipe=own", "choose from kazoo, curator"),
        ("ca=/x", "add tls=yes"),
        ("tls=yes&ca=/nowhere", "can not be read"),
        ("prefix=a//b", "is no path"),
        ("colour=red", "unknown option 'colour'"),
    ],
)
def test_what_the_url_says_wrong_is_said_at_once(query: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        fencepost.connect(f"zookeeper://127.0.0.1/locks?{query}")


@pytest.mark.unit
def test_a_password_is_not_shown() -> None:
    with pytest.raises(ValueError) as refused:
        fencepost.connect("zookeeper://alice:secret@127.0.0.1/locks?recipe=own")
    assert "secret" not in str(refused.value)
