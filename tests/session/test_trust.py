"""A server that shows a certificate we do not trust: to try again does not help, so it is `Refused`."""

from collections.abc import Callable

import pytest

import fencepost
from fencepost import Refused
from fencepost.core.url import parse_url
from fencepost.engines.postgresql.address import locate
from fencepost.engines.postgresql.trouble import not_let_in
from fencepost.errors import EngineError, Unavailable
from fencepost.session.trust import verdict
from fencepost.testing.port import free_port
from fencepost.testing.redis import shared_tls

CALLS: dict[str, Callable[[fencepost.Session], object]] = {
    "a session is entered": lambda session: session.__enter__(),
    "a lock is acquired": lambda session: session.lock("a").acquire(timeout=60),
    "a lock is tried": lambda session: session.lock("a").try_acquire(),
    "a name is looked at": lambda session: session.look("a"),
    "names are listed": lambda session: session.names(),
    "a name is evicted": lambda session: session.evict("a"),
    "a group is looked at": lambda session: session.group("a").members(),
    "a rate limit is tried": lambda session: session.rate_limit("a", 1, 1.0).try_acquire(),
}


@pytest.mark.parametrize("call", CALLS)
def test_a_certificate_that_is_not_trusted_is_refused(call: str) -> None:
    port, _ = shared_tls()
    session = fencepost.connect(f"rediss://127.0.0.1:{port}", ttl=60)
    with pytest.raises(Refused, match=r"certificate.*check the certificates"):
        CALLS[call](session)
    session.close()


async def test_a_certificate_that_is_not_trusted_is_refused_in_asyncio_too() -> None:
    port, _ = shared_tls()
    with pytest.raises(Refused, match=r"certificate.*check the certificates"):
        async with fencepost.connect_async(f"rediss://127.0.0.1:{port}", ttl=60):
            pass


@pytest.mark.parametrize(
    "url",
    [
        "redlock://127.0.0.1:{port},localhost:{port},LOCALHOST:{port}?tls=yes",
        "redis+cluster://127.0.0.1:{port},localhost:{port}?tls=yes",
        "redis+sentinel://127.0.0.1:{port},localhost:{port}/service?tls=yes",
    ],
)
async def test_a_certificate_that_is_not_trusted_at_any_of_several_servers_is_refused(url: str) -> None:
    port, _ = shared_tls()
    with pytest.raises(Refused, match=r"certificate.*check the certificates"):
        fencepost.connect(url.format(port=port), ttl=60).__enter__()
    with pytest.raises(Refused, match=r"certificate.*check the certificates"):
        async with fencepost.connect_async(url.format(port=port), ttl=60):
            pass


def test_a_server_that_is_down_beside_one_that_is_not_trusted_is_unavailable() -> None:
    port, _ = shared_tls()
    url = f"redis+cluster://127.0.0.1:{port},127.0.0.1:{free_port()}?tls=yes"
    with pytest.raises(Unavailable, match="certificate"):
        fencepost.connect(url, ttl=60).__enter__()


@pytest.mark.unit
@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("connection failed: SSL error: certificate verify failed", Refused),
        ('connection failed: server certificate for "b" does not match host name "a"', Refused),
        ("connection failed: SSL error: tlsv1 alert unknown ca", Refused),
        ("connection failed: Connection refused", Unavailable),
        ("could not translate host name 'certificate.invalid' to address: unknown", Unavailable),
    ],
)
def test_what_libpq_says_of_certificates_is_known(said: str, kind: type[EngineError]) -> None:
    assert type(verdict(not_let_in(said, locate(parse_url("postgresql://a"))))) is kind
