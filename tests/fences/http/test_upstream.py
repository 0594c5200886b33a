"""What a gateway says to the service behind it, and for whom."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from fencepost.fences.host import AsyncHostFence
from fencepost.fences.http import Gateway
from tests.support.fences.asgi import ask

pytestmark = pytest.mark.unit


def naming(folder: Path, client: httpx.AsyncClient) -> Gateway:
    return Gateway("http://service:8080", AsyncHostFence(folder / "marks"), client=client)


async def test_the_cookie_that_one_caller_is_given_is_not_said_for_the_next(tmp_path: Path) -> None:
    said: list[str | None] = []

    def take(request: httpx.Request) -> httpx.Response:
        said.append(request.headers.get("cookie"))
        return httpx.Response(200, headers={"Set-Cookie": "session=hers; Path=/"})

    gateway = naming(tmp_path, httpx.AsyncClient(transport=httpx.MockTransport(take)))
    hers = await ask(gateway, b"/login", headers=[(b"cookie", b"who=she")])
    assert (b"set-cookie", b"session=hers; Path=/") in [(name.lower(), value) for name, value in hers[0]["headers"]]
    await ask(gateway, b"/orders/42")
    await ask(gateway, b"/orders/42", headers=[(b"cookie", b"who=he")])
    assert said == ["who=she", None, "who=he"]


async def test_the_cookies_of_the_client_itself_are_said_for_everybody(tmp_path: Path) -> None:
    said: list[str | None] = []

    def take(request: httpx.Request) -> httpx.Response:
        said.append(request.headers.get("cookie"))
        return httpx.Response(200, headers={"Set-Cookie": "session=hers; Path=/"})

    gateway = naming(tmp_path, httpx.AsyncClient(transport=httpx.MockTransport(take), cookies={"key": "ours"}))
    for _ in range(2):
        await ask(gateway, b"/orders/42")
    assert said == ["key=ours", "key=ours"]


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("to", ["/orders/43", "http://other/secret"])
async def test_a_redirect_is_told_to_the_caller_and_not_followed(tmp_path: Path, to: str, code: int) -> None:
    """Where it leads to, the token was not judged. The caller asks for it anew."""
    asked: list[str] = []

    def take(request: httpx.Request) -> httpx.Response:
        asked.append(str(request.url))
        return httpx.Response(code, headers={"Location": to})

    # Also where its client does so for others.
    client = httpx.AsyncClient(transport=httpx.MockTransport(take), follow_redirects=True)
    for method in ("PUT", "GET"):
        answer = await ask(naming(tmp_path, client), b"/orders/42", method=method)
        assert answer[0]["status"] == code
        assert (b"location", to.encode()) in [(name.lower(), value) for name, value in answer[0]["headers"]]
    assert asked == ["http://service:8080/orders/42"] * 2


ODD = [b"mailto:x", b"http://xn--a/", b"http://[oops", b"http://a:99999999/", b"\xff\xfe//\x80", b""]


@pytest.mark.parametrize("to", ODD)
async def test_a_redirect_to_nowhere_is_told_as_the_service_told_it(tmp_path: Path, to: bytes) -> None:
    """The work is done by then: the caller hears what was answered, whatever httpx makes of it."""
    headers = [(b"X-End", b"2"), (b"Location", to)]
    client = httpx.AsyncClient(transport=httpx.MockTransport(lambda _: httpx.Response(303, headers=headers)))
    answer = await ask(naming(tmp_path, client), b"/orders/42")
    told = [(name.lower(), value) for name, value in answer[0]["headers"] if name.lower() != b"content-length"]
    assert (answer[0]["status"], told) == (303, [(b"x-end", b"2"), (b"location", to)])


async def test_the_client_of_a_gateway_follows_redirects_for_others_as_before(tmp_path: Path) -> None:
    def take(request: httpx.Request) -> httpx.Response:
        return (
            httpx.Response(200) if request.url.path == "/there" else httpx.Response(302, headers={"Location": "/there"})
        )

    client = httpx.AsyncClient(transport=httpx.MockTransport(take), follow_redirects=True)
    await ask(naming(tmp_path, client), b"/orders/42")
    assert (await client.get("http://service:8080/here")).status_code == 200


class Drips(httpx.AsyncByteStream):
    """A body that never ends, and never lets a reader wait for long."""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while True:
            yield b"x"
            await asyncio.sleep(0.01)


async def test_a_service_that_drips_holds_a_name_no_longer_than_an_exchange_may_take(tmp_path: Path) -> None:
    def take(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, stream=Drips()) if request.method == "PUT" else httpx.Response(200)

    client = httpx.AsyncClient(transport=httpx.MockTransport(take), timeout=1)
    marks = AsyncHostFence(tmp_path / "marks")
    gateway = Gateway("http://service:8080", marks, client=client, longest_exchange=0.2)
    answer = await ask(gateway, b"/orders/42", 6)
    assert (answer[0]["status"], answer[1]["body"]) == (504, b"the service did not answer in time\n")
    assert (await ask(gateway, b"/orders/42", 7, method="GET"))[0]["status"] == 200


@pytest.mark.parametrize("bad", [0, -1, float("nan"), float("inf")])
def test_an_exchange_takes_some_time_and_not_for_ever(tmp_path: Path, bad: float) -> None:
    with pytest.raises(ValueError, match="longest_exchange"):
        Gateway("http://service:8080", AsyncHostFence(tmp_path / "marks"), longest_exchange=bad)


async def test_an_answer_comes_in_no_encoding_that_the_gateway_can_not_read(tmp_path: Path) -> None:
    def take(request: httpx.Request) -> httpx.Response:
        if "secret" in request.headers["accept-encoding"]:
            return httpx.Response(200, headers={"Content-Encoding": "secret"}, stream=httpx.ByteStream(b"qbar"))
        return httpx.Response(200, text="done")

    gateway = naming(tmp_path, httpx.AsyncClient(transport=httpx.MockTransport(take)))
    answer = await ask(gateway, b"/orders/42", headers=[(b"accept-encoding", b"secret")])
    assert answer[1]["body"] == b"done"


async def test_nobody_newer_passes_while_the_service_is_at_a_request_that_was_cancelled(tmp_path: Path) -> None:
    happened: list[str] = []
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def work(token: str) -> None:
        happened.append(f"{token} begins")
        begun.set()
        if token == "6":
            await go_on.wait()
        happened.append(f"{token} ends")

    async def take(request: httpx.Request) -> httpx.Response:
        # As a service does: it goes on, whoever has hung up.
        await asyncio.shield(asyncio.ensure_future(work(request.headers["fencing-token"])))
        return httpx.Response(200)

    gateway = naming(tmp_path, httpx.AsyncClient(transport=httpx.MockTransport(take)))
    older = asyncio.create_task(ask(gateway, b"/orders/42", 6))
    await begun.wait()
    older.cancel()
    newer = asyncio.create_task(ask(gateway, b"/orders/42", 7))
    # Long enough for a gateway that does not hold it off to pass it on. If not, nothing is found out.
    await asyncio.wait([newer], timeout=0.1)
    go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await older
    await newer
    assert happened == ["6 begins", "6 ends", "7 begins", "7 ends"]
