"""The agent whose store is guarded, spoken to by the HTTP client of the standard library: nothing to install."""

import http.client
import json
import ssl
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from fencepost.errors import Refused, Unavailable

Operation = dict[str, Any]
PORTS = {"http": 8500, "https": 8501}


class Conflict(NamedTuple):
    """Nothing of a transaction happened; the places of the operations that failed."""

    places: tuple[int, ...]


class Agent:
    """As many connections as callers at a time, kept open."""

    def __init__(self, url: str, *, token: str | None, context: ssl.SSLContext | None, timeout: float) -> None:
        self._free: list[http.client.HTTPConnection] = []
        found = urlsplit(url)
        if found.scheme not in PORTS or not found.hostname:
            raise ValueError(f"'{url}' is not the address of a Consul agent: write http://127.0.0.1:8500")
        self._host, self._port = found.hostname, found.port or PORTS[found.scheme]
        self._secure = found.scheme == "https"
        self._headers = {"X-Consul-Token": token} if token else {}
        self._context = context
        self._timeout = timeout

    def transact(self, operations: list[Operation]) -> list[dict[str, Any]] | Conflict:
        """All of it or nothing: what it read and wrote. It is sent once, so that `Unavailable` means unknown."""
        try:
            connection = self._free.pop()
        except IndexError:
            connection = self._connect()
        try:
            connection.request("PUT", "/v1/txn", json.dumps([{"KV": each} for each in operations]), self._headers)
            response = connection.getresponse()
            body = response.read()
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            said = str(error) or type(error).__name__
            raise Unavailable(f"consul at {self._host}:{self._port} did not answer: {said}") from error
        except BaseException:
            connection.close()
            raise
        self._free.append(connection)
        text = body.decode(errors="replace")
        if response.status == 200:
            return [each["KV"] for each in json.loads(text)["Results"] or ()]
        if response.status == 409 and "Permission denied" not in text:
            return Conflict(tuple(each["OpIndex"] for each in json.loads(text)["Errors"]))
        kind = Unavailable if response.status in (429, 500, 502, 503, 504) else Refused
        raise kind(f"consul at {self._host}:{self._port} answered: {' '.join(text.split())[:200]}")

    def close(self) -> None:
        while self._free:
            self._free.pop().close()

    __del__ = close

    def _connect(self) -> http.client.HTTPConnection:
        if self._secure:
            return http.client.HTTPSConnection(self._host, self._port, timeout=self._timeout, context=self._context)
        return http.client.HTTPConnection(self._host, self._port, timeout=self._timeout)
