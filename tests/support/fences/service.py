"""A little service that keeps one text in a file, as ASGI and WSGI apps, fenced or naked; and how to serve them."""

import asyncio
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, make_server

from fencepost.fences.host import AsyncHostFence, HostFence
from fencepost.fences.http import FencedAsgi, FencedWsgi, Gateway

FOLDER = Path(os.environ.get("FENCEPOST_TEST_FOLDER", "."))
TEXT = FOLDER / "text"


async def naked(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """GET reads the text, PUT replaces it; PUT /slow first waits for the file `go`, and says so by the file `slow`."""
    if scope["type"] != "http":
        return
    if scope["method"] == "PUT":
        if scope["query_string"] == b"slow":
            (FOLDER / "slow").touch()
            while not (FOLDER / "go").exists():
                await asyncio.sleep(0.005)
        TEXT.write_bytes((await receive())["body"])
    await send({"type": "http.response.start", "status": 200, "headers": [(b"x-token", _token(scope))]})
    await send({"type": "http.response.body", "body": TEXT.read_bytes()})


def _token(scope: dict[str, Any]) -> bytes:
    return str(scope.get("fencepost.token")).encode()


fenced = FencedAsgi(naked, AsyncHostFence(FOLDER / "marks.db"))
gateway = Gateway(os.environ["FENCEPOST_TEST_UPSTREAM"], AsyncHostFence(FOLDER / "marks.db"))


def naked_wsgi(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
    if environ["REQUEST_METHOD"] == "PUT":
        TEXT.write_bytes(environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"])))
    start_response("200 OK", [("X-Token", str(environ.get("fencepost.token")))])
    yield TEXT.read_bytes()


fenced_wsgi = FencedWsgi(naked_wsgi, HostFence(FOLDER / "marks.db"))


class Quiet(WSGIRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        pass


if __name__ == "__main__":
    make_server("127.0.0.1", int(sys.argv[1]), fenced_wsgi, handler_class=Quiet).serve_forever()
