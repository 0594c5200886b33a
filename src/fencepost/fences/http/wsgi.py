"""WSGI middleware that refuses stale tokens."""

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import Any, Protocol

from fencepost.errors import Stale
from fencepost.fences.http.header import Refusal, judge, path_name, stale

Environ = dict[str, Any]
StartResponse = Callable[..., Any]
App = Callable[[Environ, StartResponse], Iterable[bytes]]


class Guarding(Protocol):
    """A fence whose guard may be entered by many threads at once: `HostFence`, `MemoryFence`."""

    def guard(self, name: str, grant: int) -> AbstractContextManager[Any]: ...


class FencedWsgi:
    """`app`, with each request that shows a `Fencing-Token` run inside the guard of its name.

    A write without a token is refused (428), one with a stale token too (412), and neither reaches the app. While a
    request runs, none with another token for the same name does. `name` says which lock protects a path; a request
    for which it gives None is not fenced. The app finds the token in `environ["fencepost.token"]`.

    Limits. Answers are collected before they are sent, so that nothing of a request runs outside of its guard.
    """

    def __init__(self, app: App, fence: Guarding, *, name: Callable[[str], str | None] = path_name) -> None:
        self._app = app
        self._fence = fence
        self._name = name

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        name = self._name(environ.get("PATH_INFO", ""))
        token = None if name is None else judge(environ["REQUEST_METHOD"], environ.get("HTTP_FENCING_TOKEN"))
        if isinstance(token, Refusal):
            return _refuse(token, start_response)
        if name is None or token is None:
            return self._app(environ, start_response)
        environ["fencepost.token"] = token
        entered = False
        try:
            with self._fence.guard(name, token):
                entered = True
                return self._collect(environ, start_response)
        except Stale as error:
            if entered:
                # The app's own, about something else: its answer may have begun.
                raise
            return _refuse(stale(error), start_response)

    def _collect(self, environ: Environ, start_response: StartResponse) -> list[bytes]:
        answer = self._app(environ, start_response)
        try:
            return list(answer)
        finally:
            close = getattr(answer, "close", None)
            if close is not None:
                close()


def _refuse(refusal: Refusal, start_response: StartResponse) -> list[bytes]:
    start_response(f"{refusal.status} {refusal.reason}", refusal.all_headers())
    return [refusal.body]
