"""Several hosts, of which one neither answers nor refuses."""

import asyncio
import select
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest

import fencepost
from fencepost.core.url import parse_url
from fencepost.engines.postgresql.address import Address, locate
from fencepost.engines.postgresql.dial import dial
from fencepost.engines.postgresql.wire import aio, threads
from fencepost.errors import Refused, Unavailable
from fencepost.testing.port import free_port

from .conftest import at


@pytest.fixture
def hole() -> Iterator[str]:
    """Connections are accepted, and then nobody speaks."""
    with socket.socket() as hole:
        hole.bind(("127.0.0.1", 0))
        hole.listen(100)
        yield f"127.0.0.1:{hole.getsockname()[1]}"


def address(*hosts: str, options: str = "") -> Address:
    return locate(parse_url(f"postgresql://postgres@{','.join(hosts)}/postgres{options}"))


def _peer(fileno: int) -> str:
    with socket.socket(fileno=socket.dup(fileno)) as twin:
        try:
            return "{}:{}".format(*twin.getpeername())
        except (OSError, IndexError):
            return "nobody"


class Walk:
    """Connects, and says where it was. A host that is in `silent` is given up when it is next waited for to speak."""

    def __init__(self, address: Address, patience: float, *silent: str) -> None:
        self.seconds: dict[str, float] = {}
        self.error: Exception | None = None
        steps = dial(address, patience)
        try:
            fileno, event, seconds = next(steps)
            while True:
                peer = _peer(fileno)
                self.seconds.setdefault(peer, seconds)
                poll = select.poll()
                poll.register(fileno, event)
                came = not (peer in silent and event == select.POLLIN) and bool(poll.poll(60_000))
                fileno, event, seconds = steps.send(came)
        except StopIteration as done:
            done.value.finish()
        except (Unavailable, Refused) as error:
            self.error = error
        finally:
            steps.close()

    @property
    def way(self) -> list[str]:
        return list(self.seconds)


def test_a_silent_host_is_left_after_its_share_of_the_time_and_tried_last_from_then_on(port: int, hole: str) -> None:
    server = f"127.0.0.1:{port}"
    both = address(hole, server)
    first = Walk(both, 60, hole)
    assert first.error is None
    assert first.way == [hole, server]
    assert 20 < first.seconds[hole] <= 30 < first.seconds[server] <= 60
    assert Walk(both, 60, hole).way == [server]


def test_a_host_that_answers_again_takes_its_turn_again(port: int, hole: str) -> None:
    server = f"127.0.0.1:{port}"
    both = address(server, hole)
    assert "did not answer within 60 s" in str(Walk(both, 60, hole, server).error)
    # Both were silent: in the order in which they were named.
    assert Walk(both, 60, hole).way == [server]
    assert Walk(both, 60, hole, server).way == [server, hole]


def test_connect_timeout_is_the_most_that_one_host_gets(port: int, hole: str) -> None:
    server = f"127.0.0.1:{port}"
    assert Walk(address(hole, server, options="?connect_timeout=7"), 60, hole).seconds[hole] <= 7
    alone = Walk(address(hole, options="?connect_timeout=7"), 60, hole)
    assert alone.seconds[hole] <= 7
    assert "did not answer within 7 s" in str(alone.error)
    with pytest.raises(ValueError, match=r"'connect_timeout' in .* must be a whole number of seconds"):
        address(server, options="?connect_timeout=soon")


def test_what_each_host_said_is_told(hole: str, monkeypatch: pytest.MonkeyPatch) -> None:
    resolve = socket.getaddrinfo

    def known(host: str, *args: Any, **options: Any) -> Any:
        if host == "unknown.example":
            raise socket.gaierror(-2, "Name or service not known")
        return resolve(host, *args, **options)

    monkeypatch.setattr(socket, "getaddrinfo", known)
    nobody = f"127.0.0.1:{free_port()}"
    found = Walk(address(hole, "unknown.example", nobody), 60, hole).error
    assert isinstance(found, Unavailable)
    silent = f"{hole.replace(':', ' port ')} did not answer"
    for words in (silent, "'unknown.example' to address: Name or service not known", "refused"):
        assert words in str(found)


def test_every_address_of_a_name_is_a_host(port: int, hole: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As with a name that has an address of version 6, which is not routed, and one of version 4."""
    found = [(2, 1, 6, "", (each, port)) for each in ("127.0.0.2", "127.0.0.1", "127.0.0.1")]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
    with socket.socket() as silent:
        silent.bind(("127.0.0.2", port))
        silent.listen(100)
        walk = Walk(address(f"db.example:{port}"), 60, f"127.0.0.2:{port}")
    assert walk.error is None
    assert walk.way == [f"127.0.0.2:{port}", f"127.0.0.1:{port}"]


async def test_nobody_waits_for_a_name_in_an_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    known, look_up = threading.Event(), socket.getaddrinfo
    found: list[str] = []

    def stuck(host: str, *args: Any, **options: Any) -> Any:
        if host == "stuck.example" and not options.get("flags"):
            known.wait(20.0)
            found.append(host)
            host = "127.0.0.1"
        return look_up(host, *args, **options)

    monkeypatch.setattr(socket, "getaddrinfo", stuck)
    connecting = asyncio.ensure_future(aio.connect(address(f"stuck.example:{free_port()}"), 60))
    await asyncio.sleep(0)
    # A loop that is blocked would come here only when it is known.
    assert not found
    known.set()
    with pytest.raises(Unavailable, match="refused"):
        await connecting


@pytest.mark.slow
async def test_a_session_goes_on_to_the_next_host(port: int, hole: str) -> None:
    both = address(hole, f"127.0.0.1:{port}")
    threads.connect(both, 10).close()
    both.silent.clear()
    (await aio.connect(both, 10)).close()
    assert both.silent == {hole.replace(":", " port ")}
    url = f"postgresql://postgres@{hole},127.0.0.1:{port}/postgres"
    with fencepost.connect(url, ttl=30) as session:
        session.lock("a").acquire(timeout=60).release()


def test_one_host_is_asked_as_before(port: int, scheme: str) -> None:
    with fencepost.connect(at(port, scheme, "?host=127.0.0.1"), ttl=60) as session:
        session.lock("a").acquire().release()


@pytest.mark.unit
def test_what_cannot_be_the_name_of_a_host_is_not_reached(scheme: str) -> None:
    with pytest.raises(Unavailable, match=r"could not translate host name 'a\.\.b'"):
        fencepost.connect(f"{scheme}://a..b/postgres", ttl=60).__enter__()
