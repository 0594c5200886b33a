"""A request to an ASGI app, without a server."""

import asyncio
from collections.abc import Iterable
from typing import Any

Header = tuple[bytes, bytes]
WHOLE = [{"type": "http.request", "body": b"new"}]


async def ask(
    app: Any,
    raw_path: bytes,
    token: object = 7,
    *,
    method: str = "PUT",
    query: bytes = b"",
    headers: Iterable[Header] = (),
    messages: Iterable[dict[str, Any]] = WHOLE,
) -> list[dict[str, Any]]:
    """What is answered, as messages. Unless the messages say otherwise, the client waits for it."""
    come, answer = iter(messages), []
    shown = [] if token is None else [(b"fencing-token", str(token).encode())]
    path = raw_path.decode("latin-1")

    async def receive() -> dict[str, Any]:
        for message in come:
            return message
        await asyncio.Event().wait()
        raise AssertionError

    async def send(message: dict[str, Any]) -> None:
        answer.append(message)

    scope = {"type": "http", "method": method, "path": path, "raw_path": raw_path, "query_string": query}
    await app({**scope, "headers": [*shown, *headers]}, receive, send)
    return answer
