"""A gateway for services that can not check tokens themselves."""

import asyncio
from collections.abc import Callable, Iterable
from http.cookiejar import DefaultCookiePolicy
from typing import Any
from urllib.parse import urlsplit

from fencepost.core.duration import check_seconds
from fencepost.core.name import check_text
from fencepost.core.url import MOST_CHARACTERS, masked
from fencepost.fences.http.asgi import AsyncGuarding, FencedAsgi, Scope, refuse
from fencepost.fences.http.exchange import Receive, Send, whole_body
from fencepost.fences.http.header import LARGEST_BODY, Refusal, bad, path_name, plain
from fencepost.fences.http.target import meant, spelled

Header = tuple[bytes, bytes]

# Of one connection, and not to be passed on.
HOP_BY_HOP = frozenset(
    b"connection keep-alive proxy-authenticate proxy-authorization te trailer transfer-encoding upgrade host".split()
)
# How long the service may take for one request, unless the gateway says otherwise.
LONGEST_EXCHANGE = 300.0
# By this the requests of gateways are known to a client that may send others, too.
OURS = "fencepost.gateway"
TOLD = "fencepost.headers"
# Answers that have no body, whatever their headers say.
BODILESS = frozenset((204, 304))
# By these a request asks some services for something else than its first line says, which is what was judged.
ELSEWHERE = frozenset(
    b"x-http-method-override x-http-method x-method-override x-original-url x-rewrite-url destination".split()
)
# By these, too, a request is judged and passed on. One with another mark for the `-` is theirs for some services.
ALIKE = ELSEWHERE | HOP_BY_HOP | {b"fencing-token", b"content-length"}


class KeepsNone(DefaultCookiePolicy):
    """For a client that speaks for many: the cookies that one of them is given are not said for the others."""

    def set_ok(self, cookie: object, request: object) -> bool:
        return False


class Gateway:
    """An ASGI app that passes requests on to the service at `upstream`, unless their token is stale.

    Run it with any ASGI server, such as `uvicorn shop:gateway`, and let nobody reach the service past it. `client` is
    an `httpx.AsyncClient`; it must not retry, and keeps no cookies from answers. The other options are those of
    `FencedAsgi`.

    What can not be judged for sure is refused (400): a path that servers may take for another one (with `.`, `..`,
    `//`, a semicolon, an encoded slash), and a header that asks for something else than the request line, or that is
    one of those by the rules of CGI (`Fencing_Token`). What was judged is passed on in one spelling, and only to
    `upstream`.

    Limits. If the service does not answer in time (504), if it drops the connection and works on (502), or if the
    gateway is killed, what was asked may still happen, after a newer token has passed. The service has in time to
    answer the whole exchange (`longest_exchange` seconds) and each step of it (the time-outs of the client): give both
    longer than any request takes. Where one resource of the
    service has several paths (upper and lower case, aliases), `name` has to give them one name.
    """

    def __init__(
        self,
        upstream: str,
        fence: AsyncGuarding,
        *,
        client: Any = None,
        name: Callable[[str], str | None] = path_name,
        largest_token: int | None = None,
        largest_body: int = LARGEST_BODY,
        longest_exchange: float = LONGEST_EXCHANGE,
    ) -> None:
        self._upstream = _service(upstream)
        if not check_seconds(longest_exchange, "longest_exchange"):
            raise ValueError("longest_exchange must be more than 0 s")
        self._longest_exchange = longest_exchange
        self._client = client
        self._largest_body = largest_body
        self._fenced = FencedAsgi(
            self._forward, fence, name=name, largest_token=largest_token, largest_body=largest_body
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] != "http":
            raise ValueError(f"a gateway passes on HTTP, not '{scope['type']}'")
        elif (path := _path(scope)) is None:
            await refuse(bad("this path may be taken for another one: spell it without '.', '..', '//', ';'"), send)
        elif elsewhere := sorted(name for name, _ in scope["headers"] if _elsewhere(name.lower())):
            await refuse(bad(f"a gateway does not pass on '{elsewhere[0].decode('latin-1')}'"), send)
        else:
            await self._fenced({**scope, "path": path}, receive, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        while True:
            what = (await receive())["type"].removeprefix("lifespan.")
            if what == "shutdown" and self._client is not None:
                await self._client.aclose()
            await send({"type": f"lifespan.{what}.complete"})
            if what == "shutdown":
                return

    async def _forward(self, scope: Scope, receive: Receive, send: Send) -> None:
        import httpx

        client = self._connected()
        body = await whole_body(receive, self._largest_body)
        if isinstance(body, Refusal):
            await refuse(body, send)
        if not isinstance(body, bytes):
            return
        url = self._url(spelled(scope["path"]).encode(), scope["query_string"])
        if url is None:
            await refuse(bad("this query is too long, or has characters that must be encoded"), send)
            return
        # The length is what came, and the client says it; and in which encodings it can read the answer.
        headers = _passed_on(scope["headers"], b"content-length", b"accept-encoding")
        request = client.build_request(scope["method"], url, headers=headers, content=body, extensions={OURS: True})
        try:
            # The client's own time-outs begin anew with every byte.
            async with asyncio.timeout(self._longest_exchange):
                answer = await client.send(request, follow_redirects=False)
        except (httpx.TimeoutException, TimeoutError):
            await _answer(send, 504, [], b"the service did not answer in time\n")
        except httpx.TransportError:
            await _answer(send, 502, [], b"the service can not be reached\n")
        except httpx.DecodingError:
            await _answer(send, 502, [], b"the answer of the service can not be read\n")
        else:
            await _pass_on(send, scope["method"], answer)

    def _connected(self) -> Any:
        import httpx

        if self._client is None:
            self._client = httpx.AsyncClient(timeout=60, trust_env=False)
        self._client.cookies.jar.set_policy(KeepsNone())
        if _hide_location not in self._client.event_hooks["response"]:
            self._client.event_hooks["response"].append(_hide_location)
        return self._client

    def _url(self, path: bytes, query: bytes) -> Any:
        """Where this is at the service; None if it would not arrive as it is."""
        import httpx

        # Not as one text, in which a path could go on with the address before it.
        service = httpx.URL(self._upstream)
        target = service.raw_path.rstrip(b"/") + path + (b"?" + query if query else b"")
        try:
            url = service.copy_with(raw_path=target)
        except (httpx.InvalidURL, ValueError):
            return None
        return url if url.raw_path == target else None


def _service(upstream: str) -> str:
    """The address of the service, without a slash at its end, or an error that says what to change."""
    check_text(upstream, "the address of a service", MOST_CHARACTERS)
    try:
        found = urlsplit(upstream)
        known = found.scheme in ("http", "https") and found.hostname and (found.port is None or found.port > 0)
    except ValueError:
        known = False
    if not known or not upstream.isprintable():
        raise ValueError(f"'{masked(upstream)}' is not the address of a service: write http://127.0.0.1:8080")
    return upstream.rstrip("/")


def _path(scope: Scope) -> str | None:
    raw = scope.get("raw_path") or spelled(scope["path"]).encode()
    return meant(raw.partition(b"?")[0])


def _elsewhere(header: bytes) -> bool:
    """Whether a service may take a request with this header for another one than was judged."""
    known = plain(header)
    return known in ELSEWHERE or (known in ALIKE and known != header)


def _passed_on(headers: Iterable[Header], *dropped: bytes) -> list[Header]:
    """All but those that are of one connection: known ones, and what `Connection` names."""
    found = [(name.lower(), value) for name, value in headers]
    named = {each.strip().lower() for name, value in found if name == b"connection" for each in value.split(b",")}
    return [(name, value) for name, value in found if name not in HOP_BY_HOP | named | {*dropped}]


async def _hide_location(answer: Any) -> None:
    """Of an answer to a gateway: httpx would look where it leads to, and fail over one that it can not read."""
    if OURS in answer.request.extensions:
        answer.extensions[TOLD] = answer.headers.raw
        answer.headers.pop("location", None)


async def _pass_on(send: Send, method: str, answer: Any) -> None:
    """What the service has answered, to the one who asked."""
    told = answer.extensions[TOLD]
    bodiless = method == "HEAD" or answer.status_code in BODILESS
    if bodiless and "content-encoding" not in answer.headers:
        # The length is of what is left out.
        headers = _passed_on(told)
    else:
        # A body comes decoded, so what was said about its encoding and length is not true any more.
        headers = _passed_on(told, b"content-encoding", b"content-length")
    if bodiless:
        await _send(send, answer.status_code, headers, b"")
    else:
        await _answer(send, answer.status_code, headers, answer.content)


async def _answer(send: Send, status: int, headers: list[Header], body: bytes) -> None:
    await _send(send, status, [*headers, (b"content-length", str(len(body)).encode())], body)


async def _send(send: Send, status: int, headers: list[Header], body: bytes) -> None:
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
