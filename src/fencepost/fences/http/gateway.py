"""A gateway for services that can not check tokens themselves."""

from typing import Any

from fencepost.fences.http.asgi import AsyncGuarding, FencedAsgi, Receive, Scope, Send
from fencepost.fences.http.header import path_name

# Of one connection, and not to be passed on.
HOP_BY_HOP = frozenset(
    b"connection keep-alive proxy-authenticate proxy-authorization te trailer transfer-encoding upgrade host".split()
)


class Gateway:
    """An ASGI app that passes requests on to the service at `upstream`, unless their token is stale.

    Run it with any ASGI server, such as `uvicorn shop:gateway`, and let nobody reach the service past it. `client` is
    an `httpx.AsyncClient`; it must not retry.

    Limits. If the service does not answer in time (504), what it was asked may still happen, after a newer token
    has passed. Give the client a time-out longer than any request takes.
    """

    def __init__(self, upstream: str, fence: AsyncGuarding, *, client: Any = None, name: Any = path_name) -> None:
        self._upstream = upstream.rstrip("/")
        self._client = client
        self._fenced = FencedAsgi(self._forward, fence, name=name)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http":
            await self._fenced(scope, receive, send)
        else:
            raise ValueError(f"a gateway passes on HTTP, not '{scope['type']}'")

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

        if self._client is None:
            self._client = httpx.AsyncClient(timeout=60, trust_env=False)
        query = f"?{scope['query_string'].decode('latin-1')}" if scope["query_string"] else ""
        path = scope.get("raw_path", scope["path"].encode()).partition(b"?")[0].decode("latin-1")
        headers = [(name, value) for name, value in scope["headers"] if name not in HOP_BY_HOP]
        body = await _body(receive)
        request = self._client.build_request(
            scope["method"], f"{self._upstream}{path}{query}", headers=headers, content=body
        )
        try:
            answer = await self._client.send(request)
        except httpx.TimeoutException:
            await _answer(send, 504, [], b"the service did not answer in time\n")
        except httpx.TransportError:
            await _answer(send, 502, [], b"the service can not be reached\n")
        else:
            # The body comes decoded, so what was said about its encoding and length is not true any more.
            dropped = HOP_BY_HOP | {b"content-encoding", b"content-length"}
            kept = [(name.lower(), value) for name, value in answer.headers.raw if name.lower() not in dropped]
            await _answer(send, answer.status_code, kept, answer.content)


async def _body(receive: Receive) -> bytes:
    body, more = b"", True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
    return body


async def _answer(send: Send, status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> None:
    length = (b"content-length", str(len(body)).encode())
    await send({"type": "http.response.start", "status": status, "headers": [*headers, length]})
    await send({"type": "http.response.body", "body": body})
