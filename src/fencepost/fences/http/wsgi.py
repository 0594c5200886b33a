"""WSGI middleware that refuses stale tokens."""

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from io import BytesIO
from typing import Any, Protocol

from fencepost.errors import Stale
from fencepost.fences.http.header import (
    LARGEST_BODY,
    Refusal,
    bad,
    check_limits,
    judge,
    length_required,
    path_name,
    plausible,
    stale,
    too_large,
)

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

    A token that no lock can have come to is refused (400), as it would shut out all others: more microseconds since
    1970 than a year from now, or more than `largest_token`.

    Limits. A fenced request is read as a whole before it runs (`largest_body` bytes at most, else 413), and its answer
    is collected before it is sent: nothing of a request runs outside of its guard, and a slow client holds up nobody.
    """

    def __init__(
        self,
        app: App,
        fence: Guarding,
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

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        name = self._name(_path(environ))
        token = None if name is None else self._judge(environ, name)
        if isinstance(token, Refusal):
            return _refuse(token, start_response)
        if name is None or token is None:
            return self._app(environ, start_response)
        body = _whole_body(environ, self._largest_body)
        if isinstance(body, Refusal):
            return _refuse(body, start_response)
        environ.update({"fencepost.token": token, "wsgi.input": BytesIO(body), "CONTENT_LENGTH": str(len(body))})
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

    def _judge(self, environ: Environ, name: str) -> int | Refusal | None:
        shown = environ.get("HTTP_FENCING_TOKEN")
        return judge(environ["REQUEST_METHOD"], name, shown, self._largest_token or plausible())

    def _collect(self, environ: Environ, start_response: StartResponse) -> list[bytes]:
        answer = self._app(environ, start_response)
        try:
            return list(answer)
        finally:
            close = getattr(answer, "close", None)
            if close is not None:
                close()


def _path(environ: Environ) -> str:
    """The path as ASGI has it, so that both fence under the same names: WSGI tells its bytes, each as a character."""
    return str(environ.get("PATH_INFO", "")).encode("latin-1").decode(errors="surrogateescape")


def _whole_body(environ: Environ, most: int) -> bytes | Refusal:
    length, terminated = environ.get("CONTENT_LENGTH") or "", environ.get("wsgi.input_terminated")
    if "HTTP_TRANSFER_ENCODING" in environ and not terminated:
        # In chunks, which this server leaves as they are: nobody could tell where they end.
        return length_required()
    if not length and not terminated:
        return b""
    if length and not (length.isascii() and length.isdecimal() and len(length) < 20):
        return bad("Content-Length is a number")
    expected = int(length) if length else None
    if expected is not None and expected > most:
        return too_large(most)
    body: bytes = environ["wsgi.input"].read(most + 1 if expected is None else expected)
    if len(body) > most:
        return too_large(most)
    return body if expected in (None, len(body)) else bad("the request ended before its body did")


def _refuse(refusal: Refusal, start_response: StartResponse) -> list[bytes]:
    start_response(f"{refusal.status} {refusal.reason}", refusal.all_headers())
    return [refusal.body]
