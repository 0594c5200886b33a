"""ASGI middleware that refuses stale tokens."""

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

from fencepost.errors import Stale
from fencepost.fences.http.header import Refusal, judge, path_name, stale

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


class AsyncGuarding(Protocol):
    """A fence whose guard may be entered by many tasks at once: `AsyncHostFence`, `AsyncRedisFence`."""

    def guard(self, name: str, grant: int) -> AbstractAsyncContextManager[Any]: ...


class FencedAsgi:
    """`app`, with each request that shows a `Fencing-Token` run inside the guard of its name.

    A write without a token is refused (428), one with a stale token too (412), and neither reaches the app. While a
    request runs, none with another token for the same name does. `name` says which lock protects a path; a request
    for which it gives None is not fenced. The app finds the token in `scope["fencepost.token"]`.

    Limits. WebSockets pass unfenced. With `AsyncRedisFence`, for a service on several hosts, requests do not wait for
    one another: a newer token shuts out older requests that come later, and not one that runs already.
    """

    def __init__(self, app: App, fence: AsyncGuarding, *, name: Callable[[str], str | None] = path_name) -> None:
        self._app = app
        self._fence = fence
        self._name = name

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        name = self._name(scope["path"]) if scope["type"] == "http" else None
        token = None if name is None else judge(scope["method"], _shown(scope))
        if isinstance(token, Refusal):
            await _refuse(token, send)
            return
        if name is None or token is None:
            await self._app(scope, receive, send)
            return
        entered = False
        try:
            async with self._fence.guard(name, token):
                entered = True
                await self._app({**scope, "fencepost.token": token}, receive, send)
        except Stale as error:
            if entered:
                # The app's own, about something else: its answer may have begun.
                raise
            await _refuse(stale(error), send)


def _shown(scope: Scope) -> str | None:
    found = [value for name, value in scope["headers"] if name == b"fencing-token"]
    # Two of them would be two opinions: judged as one text that is no number.
    return b", ".join(found).decode("latin-1") if found else None


async def _refuse(refusal: Refusal, send: Send) -> None:
    headers = [(name.lower().encode(), value.encode()) for name, value in refusal.all_headers()]
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": refusal.body})
