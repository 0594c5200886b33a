"""ASGI middleware that refuses stale tokens."""

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

from fencepost._runtime.aio import shielded
from fencepost.errors import Stale
from fencepost.fences.http.exchange import Caller, Message, Receive, Send, whole_body
from fencepost.fences.http.header import LARGEST_BODY, Refusal, check_limits, judge, path_name, plain, plausible, stale

Scope = dict[str, Any]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


class AsyncGuarding(Protocol):
    """A fence whose guard may be entered by many tasks at once: `AsyncHostFence`, `AsyncRedisFence`."""

    def guard(self, name: str, grant: int) -> AbstractAsyncContextManager[Any]: ...


class FencedAsgi:
    """`app`, with each request that shows a `Fencing-Token` run inside the guard of its name.

    A write without a token is refused (428), one with a stale token too (412), and neither reaches the app. While a
    request runs, none with another token for the same name does. `name` says which lock protects a path; a request
    for which it gives None is not fenced. The app finds the token in `scope["fencepost.token"]`.

    A token that no lock can have come to is refused (400), as it would shut out all others: more microseconds since
    1970 than a year from now, or more than `largest_token`.

    Limits. A fenced request is read as a whole before it runs (`largest_body` bytes at most, else 413), and its answer
    is sent when it has run: a slow client holds up nobody. A request whose client has gone away before its turn does
    not run. One that is running is not cancelled: its guard is left when the app is done. WebSockets pass
    unfenced. With `AsyncRedisFence`, for a service on several hosts, requests do not wait for one another: a newer
    token shuts out older requests that come later, and not one that runs already.
    """

    def __init__(
        self,
        app: App,
        fence: AsyncGuarding,
        *,
        name: Callable[[str], str | None] = path_name,
        largest_token: int | None = None,
        largest_body: int = LARGEST_BODY,
    ) -> None:
        check_limits(largest_token, largest_body)
        self._app = app
        self._fence = fence
        self._name = name
        self._largest_token = largest_token
        self._largest_body = largest_body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        name = self._name(scope["path"]) if scope["type"] == "http" else None
        token = None if name is None else self._judge(scope, name)
        if isinstance(token, Refusal):
            await refuse(token, send)
        elif name is None or token is None:
            await self._app(scope, receive, send)
        else:
            body = await whole_body(receive, self._largest_body)
            if isinstance(body, Refusal):
                await refuse(body, send)
            elif body is not None:
                caller = Caller(body, receive)
                try:
                    answer = await self._run(name, token, scope, caller)
                finally:
                    caller.leave()
                for message in answer:
                    await send(message)

    def _judge(self, scope: Scope, name: str) -> int | Refusal | None:
        return judge(scope["method"], name, _shown(scope), self._largest_token or plausible())

    async def _run(self, name: str, token: int, scope: Scope, caller: Caller) -> list[Message]:
        answer: list[Message] = []

        async def keep(message: Message) -> None:
            answer.append(message)

        entered = False
        try:
            async with self._fence.guard(name, token):
                entered = True
                # Whoever is gone may have asked for something newer, and heard that it is done.
                if not await caller.is_gone():
                    # What the app has begun may go on though nobody waits any more: until it is done, nobody comes.
                    await shielded(self._app({**scope, "fencepost.token": token}, caller.receive, keep))
        except Stale as error:
            if entered:
                # The app's own, about something else.
                raise
            await refuse(stale(error), keep)
        return answer


def _shown(scope: Scope) -> str | None:
    # However it is spelled: the app behind may not see the difference.
    found = [value for name, value in scope["headers"] if plain(name) == b"fencing-token"]
    # Two of them would be two opinions: judged as one text that is no number.
    return b", ".join(found).decode("latin-1") if found else None


async def refuse(refusal: Refusal, send: Send) -> None:
    headers = [(name.lower().encode(), value.encode()) for name, value in refusal.all_headers()]
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": refusal.body})
