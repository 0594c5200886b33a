"""A request that is there as a whole before it is fenced, and an answer that leaves when it is not fenced any more.

Whoever sends half a request, or does not read the answer, would else keep the guard, and shut out newer tokens.
"""

import asyncio
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


class Caller:
    """Whoever has sent a whole body, and is listened to from then on: it may still say that it goes away."""

    def __init__(self, body: bytes, receive: Receive) -> None:
        self._body: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]
        self._receive = receive
        self._next: asyncio.Future[Message] | None = asyncio.ensure_future(receive())

    async def is_gone(self) -> bool:
        # Where nobody had to wait it has not been listened to yet.
        await asyncio.sleep(0)
        heard = self._next
        if heard is None or not heard.done() or heard.cancelled() or heard.exception() is not None:
            return False
        return bool(heard.result()["type"] == "http.disconnect")

    async def receive(self) -> Message:
        """The whole body first; then what was heard meanwhile."""
        if self._body:
            return self._body.pop()
        heard = self._next
        if heard is None:
            return await self._receive()
        try:
            # An app may listen for a while only, and again later.
            return await asyncio.shield(heard)
        finally:
            if heard.done():
                self._next = None

    def leave(self) -> None:
        """Listen no longer."""
        if self._next is not None and not self._next.cancel() and not self._next.cancelled():
            # Looked at, lest the loop complain that nobody has.
            self._next.exception()
