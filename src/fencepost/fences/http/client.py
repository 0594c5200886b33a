"""Showing a token with httpx or requests, and hearing that it is stale."""

from typing import Any

from fencepost.errors import Stale
from fencepost.fences.http.header import HEADER, MARK
from fencepost.fences.protocol import Tokened, read_mark, token_of


class Presented:
    """Puts the token of `grant` on every request: the `auth=` of a call or client of httpx (both kinds) or requests."""

    def __init__(self, grant: Tokened | int) -> None:
        self._token = str(token_of(grant))

    def __call__(self, request: Any) -> Any:
        request.headers[HEADER] = self._token
        return request


def raise_if_stale(response: Any, *_: Any, **__: Any) -> Any:
    """`Stale` if the service has refused the token of this response's request; else the response.

    A hook for responses: `hooks={"response": raise_if_stale}` with requests, `event_hooks={"response":
    [raise_if_stale]}` with httpx. An asynchronous client of httpx wants its hooks asynchronous: call it by hand.
    """
    mark = read_mark(response.headers.get(MARK))
    if response.status_code == 412 and mark:
        # A request that showed no token has the lowest of all.
        raise Stale(str(response.request.url), read_mark(response.request.headers.get(HEADER)) or 0, mark)
    return response
