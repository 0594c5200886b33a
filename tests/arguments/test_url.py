"""Whatever stands in a URL: it is taken, or refused in one line that never shows a password."""

import ssl
import threading
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import fencepost
from fencepost.contract import registry
from fencepost.core.url import parse_url
from fencepost.errors import EngineError, Refused, Unsupported
from fencepost.fences.consul import AsyncConsulFence, ConsulFence
from fencepost.fences.etcd import AsyncEtcdFence, EtcdFence
from tests.support.arguments.url import HOSTS, OPTIONS, PATHS, SECRET, SECRETS, VALUES
from tests.support.arguments.value import ODD

pytestmark = pytest.mark.unit

SCHEMES = tuple(registry.BUILT_IN)
PIECES = (*"/?&=@:,[]%#+ \\\n\0\ud800", SECRET, "user", "h", "1", "[::1]", "tls", "yes", "%40", "%ff")
MIXTURES = st.lists(st.sampled_from(PIECES), max_size=8).map("".join)
FENCES: tuple[Callable[[str], Any], ...] = (EtcdFence, ConsulFence, AsyncEtcdFence, AsyncConsulFence)


@pytest.fixture(autouse=True)
def _no_certificates(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of the system take a while to load, and are in no URL."""
    monkeypatch.setattr(ssl.SSLContext, "load_default_certs", lambda *_: None)


def tried(connect: Callable[[str], Any], url: str) -> None:
    """It is taken, or refused in one line that shows nothing of the password."""
    kind: type[Exception] | None
    try:
        connected = connect(url)
    except Exception as error:
        kind, said = type(error), str(error)
    else:
        kind, said = None, ""
    if kind is not None:
        assert kind in (ValueError, TypeError, Unsupported, Refused), f"{url!r}: {kind.__name__}: {said}"
        assert said.isprintable(), f"{url!r}: {said!r}"
        assert SECRET not in said, f"{url!r}: {said}"
        return
    close = getattr(connected, "close", None)
    if close is not None and not isinstance(connected, fencepost.AsyncSession | AsyncEtcdFence):
        close()
    assert SECRET not in f"{connected!r}{getattr(connected, 'engine', '')!r}"


@pytest.mark.parametrize("scheme", SCHEMES)
def test_no_host_path_or_option_of_any_scheme_raises_anything_else(scheme: str) -> None:
    threads = threading.active_count()
    for rest in (*HOSTS, *(f"h{path}" for path in PATHS), *PATHS):
        for connect in (fencepost.connect, fencepost.connect_async):
            tried(connect, f"{scheme}://{rest}")
    for option in OPTIONS:
        for value in VALUES:
            tried(fencepost.connect, f"{scheme}://h?{option}={value}")
    assert threading.active_count() == threads


@pytest.mark.parametrize("scheme", SCHEMES)
def test_no_message_shows_any_part_of_a_password_however_it_was_mistyped(scheme: str) -> None:
    for secret in SECRETS:
        for user in ("", "user"):
            for rest in ("h", "h:1", "h:x", "h/x", "a:1,b:2,c:3", "h?nobody=1", "h?db=x", "h?tls=x", "h/a/b", ""):
                tried(fencepost.connect, f"{scheme}://{user}:{secret}@{rest}")
        tried(fencepost.connect, f"{scheme}:/user:{secret}@h")
        tried(fencepost.connect, f"{scheme}//user:{secret}@h")
        tried(fencepost.connect, f"x{scheme}://user:{secret}@h")


@pytest.mark.parametrize("connect", FENCES)
def test_what_a_fence_is_told_is_no_other(connect: Callable[[str], Any]) -> None:
    for scheme in ("http", "https", "etcd", "etcds", "ftp", ""):
        for host in (*HOSTS, *(f"user:{secret}@h" for secret in SECRETS)):
            tried(connect, f"{scheme}://{host}")
    for odd in (None, 42, b"http://h", [], object()):
        with pytest.raises(TypeError):
            connect(odd)  # type: ignore[arg-type]


@settings(max_examples=200)
@example("redis", "1?zqxjkzqxjk", "h")
@given(st.sampled_from(SCHEMES), MIXTURES, MIXTURES)
def test_no_mixture_of_separators_raises_anything_else_or_shows_the_password(
    scheme: str, password: str, rest: str
) -> None:
    # Behind the last '@' a password can not be told from a host: nobody would take it for one.
    tried(fencepost.connect, f"{scheme}://user:{password}@{rest.replace(SECRET, 'h')}")


@pytest.mark.parametrize("scheme", [scheme for scheme in SCHEMES if scheme not in ("memory", "sqlite", "redis+unix")])
@pytest.mark.parametrize("host", ["a..b", "x" * 300])
async def test_a_host_that_no_name_server_can_be_asked_for_is_an_engine_error(scheme: str, host: str) -> None:
    hosts = ",".join(f"{host}:{port}" for port in ((1, 2, 3) if scheme == "redlock" else (1,)))
    url = f"{scheme}://{hosts}{'/service' if scheme == 'redis+sentinel' else ''}"
    session, other = fencepost.connect(url, ttl=30), fencepost.connect_async(url, ttl=30)
    with pytest.raises(EngineError):
        session.look("a")
    with pytest.raises(EngineError):
        await other.look("a")
    session.close()
    await other.close()


def test_what_is_encoded_comes_back_as_it_was() -> None:
    for odd in (*ODD, "user:pass@word/?#[]&=+ %"):
        text = quote(odd, safe="")
        url = parse_url(f"redis://{text}:{text}@h/{text}?a={text}&{text}=b")
        assert (url.username, url.password, url.path) == (odd, odd, f"/{odd}")
        assert url.options["a"] == odd or odd == "a"
        assert url.options[odd] == "b"


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("redis://h?prefix=a&prefix=b", "an option is given twice"),
        ("rediss://h?ca=", "option 'ca' in .* names no file"),
        ("rediss://h?key=k", "option 'key' in .* is of a certificate"),
        ("redis://h/%ff", "percent-encoded in .* is not UTF-8"),
        ("redis://::1", "not the name or address of one: write"),
        ("redis://:6379", "not the name or address of one"),
        ("redis://h:٣", "not a number between 1 and 65535"),
        ("redis://h/٣", "database '٣' in .* is not a number from 0 to"),
        ("redis://h?wait_replicas=99999999999", "option 'wait_replicas' in .* is a number from 0 to"),
        ("postgresql://h?connect_timeout=٣", "option 'connect_timeout' in .* must be a whole number of seconds"),
        ("etcd://h/folder", "has a path, which means nothing here"),
    ],
)
def test_what_would_mean_something_else_than_it_says_is_refused(url: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        fencepost.connect(url)
