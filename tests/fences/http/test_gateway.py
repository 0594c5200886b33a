"""What a gateway and the middlewares do with requests that nobody of good will sends."""

import asyncio
import time
from io import BytesIO
from pathlib import Path
from typing import Any

import httpx
import pytest

from fencepost.errors import Stale
from fencepost.fences.host import AsyncHostFence, HostFence
from fencepost.fences.http import FencedAsgi, FencedWsgi, Gateway
from fencepost.fences.http.target import meant, spelled
from tests.support.fences.asgi import WHOLE, ask

pytestmark = pytest.mark.unit
CUT: list[dict[str, Any]] = [
    {"type": "http.request", "body": b"first half,", "more_body": True},
    {"type": "http.disconnect"},
]


class Service:
    """What stands behind a gateway: it takes everything, and writes down what."""

    def __init__(self, url: str = "http://service:8080") -> None:
        self.seen: list[httpx.Request] = []
        self.client = httpx.AsyncClient(transport=httpx.MockTransport(self._take))
        self.url = url

    def _take(self, request: httpx.Request) -> httpx.Response:
        self.seen.append(request)
        return httpx.Response(200, headers={"Connection": "X-Hop", "X-Hop": "1", "X-End": "2"}, text="done")

    @property
    def targets(self) -> list[str]:
        return [str(each.url) for each in self.seen]


@pytest.fixture
def service() -> Service:
    return Service()


@pytest.fixture
def gateway(service: Service, tmp_path: Path) -> Gateway:
    return Gateway(service.url, AsyncHostFence(tmp_path / "marks"), client=service.client)


async def status(app: Any, raw_path: bytes, token: object = 7, **options: Any) -> int | None:
    answer = await ask(app, raw_path, token, **options)
    return int(answer[0]["status"]) if answer else None


ELSEWHERE = [b"@other:80/secret", b"http://other/secret", b"//other/secret", b":9/secret", b"*", b"?"]


@pytest.mark.parametrize("method", ["GET", "PUT"])
@pytest.mark.parametrize("raw", ELSEWHERE)
async def test_no_request_reaches_another_host(gateway: Gateway, service: Service, raw: bytes, method: str) -> None:
    token = None if method == "GET" else 7
    assert await status(gateway, raw, token, method=method) == 400
    assert service.seen == []


DOUBTFUL = [
    b"/x/../orders/42",
    b"/orders/./42",
    b"/orders/42/.",
    b"/orders//42",
    b"//orders/42",
    b"/orders/42//",
    b"/x/%2e%2e/orders/42",
    b"/x/%2E./orders/42",
    b"/orders%2f42",
    b"/orders%5c42",
    b"/x\\..\\orders/42",
    b"/orders/42;v=1",
    b"/orders/42%3bv=1",
    b"/orders/%2534%2532",
    b"/orders/42%00",
    b"/orders/42%0a",
    b"/orders/42%",
    b"/orders/4%g2",
    b"/orders/%ff",
    "/orders/é".encode(),
]


@pytest.mark.parametrize("raw", DOUBTFUL)
async def test_a_path_that_may_be_another_one_is_refused(gateway: Gateway, service: Service, raw: bytes) -> None:
    assert await status(gateway, raw) == 400
    assert await status(gateway, raw, None, method="GET") == 400
    assert service.seen == []


@pytest.mark.parametrize("raw", [b"/orders/42", b"/orders/%34%32", b"/%6Frders/42", b"/orders/42/"])
async def test_other_spellings_of_a_path_have_its_mark(gateway: Gateway, service: Service, raw: bytes) -> None:
    assert await status(gateway, b"/orders/42", 9) == 200
    assert await status(gateway, raw, 8) == 412
    assert len(service.seen) == 1


async def test_what_was_judged_is_passed_on(tmp_path: Path) -> None:
    service = Service("http://service:8080/shop/")
    gateway = Gateway(service.url, AsyncHostFence(tmp_path / "marks"), client=service.client)
    headers = [(b"connection", b"close, X-Hop"), (b"x-hop", b"1"), (b"content-length", b"3"), (b"x-end", b"2")]
    answer = await ask(gateway, b"/caf%c3%a9/%34%32%3f", query=b"a=%2e%2e/&b=c;d", headers=headers)
    assert service.targets == ["http://service:8080/shop/caf%C3%A9/42%3F?a=%2e%2e/&b=c;d"]
    (sent,) = service.seen
    assert (sent.content, sent.headers["content-length"], sent.headers["x-end"]) == (b"new", "3", "2")
    assert "x-hop" not in sent.headers
    names = [name for name, _ in answer[0]["headers"]]
    assert (b"x-end" in names, b"x-hop" in names, answer[1]["body"]) == (True, False, b"done")


@pytest.mark.parametrize("query", [b"a=#b", b"a= b", b"a=\xe9", b"a=\r\nx: y", b"a" * 70_000])
async def test_a_query_that_would_not_arrive_as_it_is_is_refused(
    gateway: Gateway, service: Service, query: bytes
) -> None:
    assert await status(gateway, b"/orders/42", query=query) == 400
    assert service.seen == []


@pytest.mark.parametrize("name", ["X-HTTP-Method-Override", "X-Original-URL", "X-Rewrite-URL", "Destination"])
async def test_a_header_that_asks_for_something_else_is_refused(gateway: Gateway, service: Service, name: str) -> None:
    headers = [(name.encode(), b"DELETE")]
    assert await status(gateway, b"/orders/42", None, method="GET", headers=headers) == 400
    assert service.seen == []


SPELLINGS = ["X_HTTP_Method_Override", "X_Original_URL", "x-rewrite_url", "X.Original.URL", "Fencing_Token"]


@pytest.mark.parametrize("name", SPELLINGS)
async def test_a_header_that_some_service_takes_for_another_one_is_refused(
    gateway: Gateway, service: Service, name: str
) -> None:
    """By the rule of CGI `X_Original_URL` is `X-Original-URL`."""
    headers = [(name.encode(), b"8")]
    assert await status(gateway, b"/orders/42", None, method="GET", headers=headers) == 400
    assert await status(gateway, b"/orders/42", 7, headers=headers) == 400
    assert service.seen == []


async def test_a_header_with_an_underscore_that_says_nothing_of_this_is_passed_on(
    gateway: Gateway, service: Service
) -> None:
    assert await status(gateway, b"/orders/42", headers=[(b"api_key", b"secret")]) == 200
    assert service.seen[0].headers["api_key"] == "secret"


async def app(scope: dict[str, Any], receive: Any, send: Any) -> None:
    await receive()
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"done"})


@pytest.fixture(params=["asgi", "gateway"])
def fenced(request: pytest.FixtureRequest, gateway: Gateway, tmp_path: Path) -> Any:
    return gateway if request.param == "gateway" else FencedAsgi(app, AsyncHostFence(tmp_path / "marks"))


async def test_half_a_request_is_not_passed_on(gateway: Gateway, service: Service) -> None:
    assert await ask(gateway, b"/report", messages=CUT) == []
    assert await ask(gateway, b"/report", None, method="GET", messages=CUT) == []
    assert service.seen == []


async def test_half_a_request_does_not_run(tmp_path: Path) -> None:
    ran = []

    async def noted(*_: Any) -> None:
        ran.append(True)

    assert await ask(FencedAsgi(noted, AsyncHostFence(tmp_path / "marks")), b"/report", messages=CUT) == []
    assert ran == []


async def test_a_request_that_is_still_being_sent_shuts_nobody_out(fenced: Any) -> None:
    waits, rest = asyncio.Event(), asyncio.Event()
    answer: list[dict[str, Any]] = []
    parts: list[dict[str, Any]] = [
        {"type": "http.request", "body": b"a", "more_body": True},
        {"type": "http.request", "body": b"b"},
    ]
    messages = iter(parts)

    async def receive() -> dict[str, Any]:
        message = next(messages)
        if not message.get("more_body"):
            waits.set()
            await rest.wait()
        return message

    async def send(message: dict[str, Any]) -> None:
        answer.append(message)

    scope = {"type": "http", "method": "PUT", "path": "/orders/42", "raw_path": b"/orders/42", "query_string": b""}
    older = asyncio.create_task(fenced({**scope, "headers": [(b"fencing-token", b"6")]}, receive, send))
    await waits.wait()
    assert await status(fenced, b"/orders/42", 7) == 200
    rest.set()
    await older
    assert answer[0]["status"] == 412


async def test_an_answer_that_nobody_reads_shuts_nobody_out(fenced: Any) -> None:
    begun, read = asyncio.Event(), asyncio.Event()

    async def receive() -> dict[str, Any]:
        return WHOLE[0]

    async def send(message: dict[str, Any]) -> None:
        begun.set()
        await read.wait()

    scope = {"type": "http", "method": "PUT", "path": "/orders/42", "raw_path": b"/orders/42", "query_string": b""}
    older = asyncio.create_task(fenced({**scope, "headers": [(b"fencing-token", b"6")]}, receive, send))
    await begun.wait()
    assert await status(fenced, b"/orders/42", 7) == 200
    read.set()
    await older


async def test_a_body_that_is_too_large_is_refused_and_not_collected(tmp_path: Path, service: Service) -> None:
    marks = AsyncHostFence(tmp_path / "marks")
    endless = iter(lambda: {"type": "http.request", "body": b"x" * 600, "more_body": True}, None)
    for each in (
        FencedAsgi(app, marks, largest_body=1000),
        Gateway(service.url, marks, client=service.client, largest_body=1000),
    ):
        assert await status(each, b"/orders/42", messages=endless) == 413
    assert service.seen == []
    assert await status(each, b"/orders/42", None, method="GET", messages=endless) == 413


async def test_a_token_that_no_lock_can_have_is_refused_and_not_remembered(fenced: Any, tmp_path: Path) -> None:
    nanoseconds = time.time_ns()
    for token in (2**63 - 1, nanoseconds):
        assert await status(fenced, b"/orders/42", token) == 400
    assert await status(fenced, b"/orders/42", nanoseconds // 1000) == 200
    believing = FencedAsgi(app, AsyncHostFence(tmp_path / "others"), largest_token=2**63 - 1)
    assert await status(believing, b"/orders/42", 2**63 - 1) == 200
    counting = FencedAsgi(app, AsyncHostFence(tmp_path / "counts"), largest_token=1000)
    assert [await status(counting, b"/orders/42", token) for token in (1000, 1001)] == [200, 400]


@pytest.mark.parametrize("shown", ["0" * 19 + "1" + "9" * 30, "0" * 5000 + "1", "07", "9" * 5000, "\u0667", "+7", "7 "])
async def test_a_token_has_one_spelling(fenced: Any, shown: str) -> None:
    assert await status(fenced, b"/orders/42", shown) == 400


async def test_two_tokens_are_two_opinions(fenced: Any) -> None:
    assert await status(fenced, b"/orders/42", 7, headers=[(b"fencing-token", b"8")]) == 400


async def test_a_token_counts_however_its_header_is_spelled(tmp_path: Path) -> None:
    """As in WSGI, where `Fencing_Token` arrives under the same name: what an app may believe was judged."""
    fenced = FencedAsgi(app, AsyncHostFence(tmp_path / "marks"))
    assert await status(fenced, b"/orders/42", 7) == 200
    assert await status(fenced, b"/orders/42", None, method="GET", headers=[(b"fencing_token", b"6")]) == 412
    assert await status(fenced, b"/orders/42", 7, headers=[(b"fencing_token", b"8")]) == 400


async def test_what_the_app_itself_finds_stale_is_not_the_requests_token(tmp_path: Path) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        raise Stale("something else", 1, 2)

    with pytest.raises(Stale, match="something else"):
        await status(FencedAsgi(app, AsyncHostFence(tmp_path / "marks")), b"/orders/42")


def test_wsgi_what_the_app_itself_finds_stale_is_not_the_requests_token(tmp_path: Path) -> None:
    def app(environ: dict[str, Any], start_response: Any) -> list[bytes]:
        raise Stale("something else", 1, 2)

    wsgi = Wsgi(tmp_path)
    wsgi.take = app  # type: ignore[method-assign]
    with pytest.raises(Stale, match="something else"):
        wsgi.ask("/orders/42", 7)


async def test_a_path_that_is_no_name_is_400(fenced: Any) -> None:
    assert await status(fenced, b"/" + b"x" * 2000) == 400


class Wsgi:
    """A WSGI app that says what it was sent, behind a fence, and a caller of it."""

    def __init__(self, folder: Path, **options: Any) -> None:
        self.bodies: list[bytes] = []
        self.marks = HostFence(folder / "marks")
        self._fenced = FencedWsgi(lambda *request: self.take(*request), self.marks, **options)

    def take(self, environ: dict[str, Any], start_response: Any) -> list[bytes]:
        self.bodies.append(environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"])))
        start_response("200 OK", [])
        return [b"done"]

    def ask(self, path: str, token: object, source: Any = None, **more: Any) -> int:
        told: list[str] = []
        environ = {"REQUEST_METHOD": "PUT", "PATH_INFO": path, "HTTP_FENCING_TOKEN": str(token), **more}
        self._fenced({"wsgi.input": source or BytesIO(), **environ}, lambda line, _: told.append(line))
        return int(told[0].split()[0])


def test_wsgi_refuses_the_same(tmp_path: Path) -> None:
    wsgi = Wsgi(tmp_path, largest_body=1000)
    assert wsgi.ask("/a", 2**63 - 1) == wsgi.ask("/a", "0" * 5000 + "1") == wsgi.ask("/" + "x" * 2000, 7) == 400
    assert wsgi.ask("/a", 7, BytesIO(b"half"), CONTENT_LENGTH="8") == 400
    assert wsgi.ask("/a", 7, CONTENT_LENGTH="-1") == wsgi.ask("/a", 7, CONTENT_LENGTH="9" * 5000) == 400
    assert wsgi.ask("/a", 7, CONTENT_LENGTH="1001") == 413
    assert wsgi.ask("/a", 7, BytesIO(b"x" * 1001), **{"wsgi.input_terminated": True}) == 413
    assert wsgi.bodies == []
    assert wsgi.ask("/a", 7, BytesIO(b"whole, and more"), CONTENT_LENGTH="5") == 200
    assert wsgi.ask("/a", 7, BytesIO(b"chunks"), **{"wsgi.input_terminated": True}) == 200
    assert wsgi.ask("/a", 7, BytesIO(b"nothing was announced")) == 200
    assert wsgi.bodies == [b"whole", b"chunks", b""]


def test_wsgi_refuses_a_body_that_comes_in_chunks_where_the_server_does_not_read_them(tmp_path: Path) -> None:
    wsgi = Wsgi(tmp_path)
    chunks = {"HTTP_TRANSFER_ENCODING": "chunked"}
    assert wsgi.ask("/a", 7, BytesIO(b"5\r\nhello\r\n0\r\n\r\n"), **chunks) == 411
    assert wsgi.ask("/a", 7, BytesIO(b"5\r\nhello\r\n0\r\n\r\n"), CONTENT_LENGTH="3", **chunks) == 411
    assert (wsgi.bodies, wsgi.marks.highest("a")) == ([], 0)
    assert wsgi.ask("/a", 7, BytesIO(b"hello"), **chunks, **{"wsgi.input_terminated": True}) == 200
    assert wsgi.bodies == [b"hello"]


def test_wsgi_has_the_same_names_as_asgi(tmp_path: Path) -> None:
    wsgi = Wsgi(tmp_path)
    assert wsgi.ask("/café".encode().decode("latin-1"), 7) == 200
    assert wsgi.marks.highest("café") == 7
    assert wsgi.ask("/\xff", 7) == 400


def test_wsgi_reads_a_request_before_it_takes_the_guard(tmp_path: Path) -> None:
    wsgi = Wsgi(tmp_path)

    class Slow(BytesIO):
        """While its body is still coming, a newer one comes and goes."""

        def read(self, size: int | None = -1) -> bytes:
            assert wsgi.ask("/orders/42", 7) == 200
            return super().read(size)

    assert wsgi.ask("/orders/42", 6, Slow(b"late"), CONTENT_LENGTH="4") == 412


def test_a_path_means_itself() -> None:
    for path in ("/", "/orders/42", "/orders/", "/a b/é/?#[]", "/50%", "/~x-._!$&'()*+,=:@"):
        assert meant(spelled(path).encode()) == path


def answering(folder: Path, response: httpx.Response) -> Gateway:
    """A gateway before a service that always answers so."""
    client = httpx.AsyncClient(transport=httpx.MockTransport(lambda request: response))
    return Gateway("http://service:8080", AsyncHostFence(folder / "marks"), client=client)


def lengths(answer: list[dict[str, Any]]) -> list[bytes]:
    return [value for name, value in answer[0]["headers"] if name == b"content-length"]


@pytest.mark.parametrize(("method", "status"), [("HEAD", 200), ("GET", 304)])
async def test_an_answer_without_its_body_tells_the_length_that_the_service_told(
    tmp_path: Path, method: str, status: int
) -> None:
    gateway = answering(tmp_path, httpx.Response(status, headers={"Content-Length": "1234", "X-End": "2"}))
    answer = await ask(gateway, b"/orders/42", method=method)
    assert (answer[0]["status"], lengths(answer), answer[1]["body"]) == (status, [b"1234"], b"")


async def test_an_answer_that_has_no_body_tells_no_length(tmp_path: Path) -> None:
    answer = await ask(answering(tmp_path, httpx.Response(204)), b"/orders/42", method="DELETE")
    assert (answer[0]["status"], lengths(answer)) == (204, [])


async def test_the_length_of_what_is_passed_on_decoded_is_not_told_in_advance(tmp_path: Path) -> None:
    headers = {"Content-Length": "1234", "Content-Encoding": "gzip"}
    answer = await ask(answering(tmp_path, httpx.Response(200, headers=headers)), b"/orders/42", method="HEAD")
    assert (answer[0]["status"], answer[0]["headers"]) == (200, [])


async def test_an_answer_that_can_not_be_decoded_is_502(tmp_path: Path) -> None:
    stream = httpx.ByteStream(b"this is no gzip")
    gateway = answering(tmp_path, httpx.Response(200, headers={"Content-Encoding": "gzip"}, stream=stream))
    answer = await ask(gateway, b"/orders/42")
    assert answer[0]["status"] == 502
    assert b"can not be read" in answer[1]["body"]
