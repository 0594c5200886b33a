"""The agent whose store is guarded."""

import json
import ssl
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from fencepost.core.duration import check_seconds
from fencepost.core.malformed import Malformed, decoder, is_integer, read_json
from fencepost.core.name import check_text
from fencepost.core.url import MOST_CHARACTERS, masked
from fencepost.drivers.consul.connection import Connection
from fencepost.errors import Refused, Unavailable

Operation = dict[str, Any]
PORTS = {"http": 8500, "https": 8501}


class Conflict(NamedTuple):
    """Nothing of a transaction happened; the places of the operations that failed."""

    places: tuple[int, ...]


class Agent:
    """As many connections as callers at a time, kept open."""

    def __init__(self, url: str, *, token: str | None, context: ssl.SSLContext | None, timeout: float) -> None:
        self._free: list[Connection] = []
        check_text(url, "the address of a Consul agent", MOST_CHARACTERS)
        found = urlsplit(url)
        try:
            host, port = found.hostname, found.port
        except ValueError:
            host = port = None
        if found.scheme not in PORTS or not host or not url.isprintable() or " " in host:
            raise ValueError(f"'{masked(url)}' is not the address of a Consul agent: write http://127.0.0.1:8500")
        if token is not None and not (check_text(token, "the ACL token").isascii() and token.isprintable()):
            raise ValueError("the ACL token has characters that no token has")
        check_seconds(timeout, "timeout")
        self._host, self._port = host, port or PORTS[found.scheme]
        self._context = (context or ssl.create_default_context()) if found.scheme == "https" else None
        self._timeout = timeout
        host = f"[{self._host}]" if ":" in self._host else self._host
        secret = f"X-Consul-Token: {token}\r\n" if token else ""
        self._head = f"PUT /v1/txn HTTP/1.1\r\nHost: {host}:{self._port}\r\n{secret}Content-Length: ".encode()

    def transact(self, operations: list[Operation]) -> list[dict[str, Any]] | Conflict:
        """All of it or nothing: what it read and wrote. It is sent once, so that `Unavailable` means unknown."""
        text = json.dumps([{"KV": each} for each in operations]).encode()
        connection: Connection | None = None
        try:
            connection = self._take()
            connection.begin(self._timeout)
            connection.send(b"%b%d\r\n\r\n%b" % (self._head, len(text), text))
            response = connection.read()
        except BaseException as error:
            if connection is not None:
                connection.close()
            if not isinstance(error, OSError | ValueError):
                raise
            said = str(error) or type(error).__name__
            raise Unavailable(f"consul at {self._host}:{self._port} did not answer: {said}") from error
        if response.closing:
            connection.close()
        else:
            self._free.append(connection)
        if response.status == 200:
            return _results(response.body)
        if response.status == 409 and b"Permission denied" not in response.body:
            return _conflict(response.body)
        kind = Unavailable if response.status in (429, 500, 502, 503, 504) else Refused
        told = " ".join(response.body.decode(errors="replace").split())[:200]
        raise kind(f"consul at {self._host}:{self._port} answered: {told}")

    def close(self) -> None:
        while self._free:
            self._free.pop().close()

    def __del__(self) -> None:
        # Whoever makes it may be interrupted before there is anything to close.
        if hasattr(self, "_free"):
            self.close()

    def _take(self) -> Connection:
        while True:
            try:
                connection = self._free.pop()
            except IndexError:
                return Connection(self._host, self._port, self._timeout, self._context)
            # One that was closed meanwhile, or says what nobody asked for. In the child of a fork all are closed.
            if connection.socket.fileno() >= 0 and not connection.is_readable():
                return connection
            connection.close()


@decoder
def _results(body: bytes) -> list[dict[str, Any]]:
    found = [each["KV"] for each in read_json(body)["Results"] or ()]
    for each in found:
        if not is_integer(each["ModifyIndex"]) or not isinstance(each["Value"], str | None):
            raise Malformed("a key is not described as an agent does")
    return found


@decoder
def _conflict(body: bytes) -> Conflict:
    return Conflict(tuple(int(each["OpIndex"]) for each in read_json(body)["Errors"]))
