"""A blocking connection to an agent."""

import ssl

from fencepost._runtime.wire import Wire, dial
from fencepost.drivers.consul.http import Parser, Response

CHUNK = 65536


class Connection(Wire):
    """For one request at a time."""

    __slots__ = ("_parser",)

    def __init__(self, host: str, port: int, patience: float, tls: ssl.SSLContext | None) -> None:
        self._parser = Parser()
        super().__init__(dial(host, port, patience, tls), patience)

    def read(self) -> Response:
        """The answer, in the time of the exchange."""
        response = self.take_in()
        while response is None:
            self.go_on()
            response = self.take_in()
        return response

    def take_in(self) -> Response | None:
        """Whatever comes next; the answer if that was the last of it."""
        data = self.receive(CHUNK)
        if not data:
            raise ConnectionError("the agent closed the connection")
        return self._parser.feed(data)
