"""A request that is there as a whole before it is fenced, and an answer that leaves when it is not fenced any more.

Whoever sends half a request, or does not read the answer, would else keep the guard, and shut out newer tokens.
"""

from collections.abc import Awaitable, Callable
from typing import Any

from fencepost.fences.http.header import Refusal, too_large

Message = dict[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


async def whole_body(receive: Receive, most: int) -> bytes | Refusal | None:
    """The body of a request; None if the client went away before its end."""
    body, more = bytearray(), True
    while more:
        message = await receive()
        if message["type"] != "http.request":
            return None
        body += message.get("body", b"")
        if len(body) > most:
            return too_large(most)
        more = message.get("more_body", False)
    return bytes(body)


def replayed(body: bytes, receive: Receive) -> Receive:
    """A `receive` that tells the whole body first."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def next_message() -> Message:
        return messages.pop() if messages else await receive()

    return next_message
