"""One socket, for one blocking caller at a time."""

import ssl
import threading
from collections.abc import Sequence
from time import monotonic

from fencepost._runtime import threads as runtime
from fencepost._runtime.wire import Wire, dial
from fencepost.drivers.etcd import request
from fencepost.drivers.etcd.endpoint import Address, Endpoints
from fencepost.drivers.etcd.http2 import PREFACE, Conversation, Method, Stream
from fencepost.drivers.etcd.trouble import RpcError, result

# What a server says on a connection that is idle, such as pings, fits into so many reads.
MOST_SAID = 16
CHUNK = 65_536


class Connection(Wire):
    """For one caller at a time."""

    __slots__ = ("_endpoints", "_methods", "_talk", "address")

    def __init__(self, endpoints: Endpoints, address: Address, patience: float) -> None:
        self.address = address
        self._endpoints = endpoints
        self._methods: dict[str, Method] = {}
        self._talk = Conversation()
        until = monotonic() + patience
        made = dial(address.host, address.port, patience, endpoints.tls)
        super().__init__(made, max(0.001, until - monotonic()))
        try:
            self.send(PREFACE)
            while not self._talk.greeted:
                self.read()
                self.go_on()
        except BaseException:
            self.close()
            raise

    @property
    def is_usable(self) -> bool:
        return not self._talk.leaving and not self._talk.streams

    def start(self, path: str, body: bytes, *, last: bool = True) -> Stream:
        method = self._methods.get(path)
        if method is None:
            method = self._methods[path] = self._endpoints.method(path, self.address)
        stream, data = self._talk.call(method, body, last=last)
        self.send(data)
        return stream

    def say(self, stream: Stream, body: bytes) -> None:
        data = self._talk.send(stream, body)
        if data:
            self.send(data)

    def forget_token(self) -> None:
        self._methods.clear()

    def read(self) -> None:
        """Whatever comes next, taken in."""
        self.take_in(self.receive(CHUNK))

    def receive_within(self, seconds: float, talking: "threading.Lock") -> bytes:
        """What comes within that time, while others may be sending; else TimeoutError or BlockingIOError."""
        if not isinstance(self.socket, ssl.SSLSocket):
            self.patience(seconds)
            return self.receive(CHUNK)
        # OpenSSL must not read and write one connection at the same time.
        if not self.socket.pending() and not runtime.readable(self.socket.fileno(), seconds):
            raise TimeoutError
        with talking:
            return self.socket.recv(CHUNK)

    def take_in(self, data: bytes) -> None:
        if not data:
            raise ConnectionError("the server closed the connection")
        _, reply = self._talk.feed(data)
        if reply:
            self.send(reply)

    def call(self, path: str, body: bytes) -> bytes:
        stream = self.start(path, body, last=path not in request.KEPT_OPEN)
        self.read()
        while (found := self._answer(path, stream)) is None:
            self.go_on()
            self.read()
        return found

    def calls(self, work: Sequence[request.Call]) -> "list[bytes | RpcError]":
        """What each is answered, all asked at once."""
        streams = [self.start(path, body, last=path not in request.KEPT_OPEN) for path, body in work]
        found: dict[int, bytes | RpcError] = {}
        self.read()
        while True:
            for place, ((path, _), stream) in enumerate(zip(work, streams, strict=True)):
                try:
                    answered: bytes | RpcError | None = None if place in found else self._answer(path, stream)
                except RpcError as error:
                    answered = error
                if answered is not None:
                    found[place] = answered
            if len(found) == len(work):
                return [found[place] for place in range(len(work))]
            self.go_on()
            self.read()

    def _answer(self, path: str, stream: Stream) -> bytes | None:
        if stream.done:
            return result(stream)
        if path in request.KEPT_OPEN and (messages := stream.messages()):
            self.send(self._talk.cancel(stream))
            return messages[0]
        return None

    def look(self) -> None:
        """Take in what the server has said meanwhile; raises if it has closed the connection, or does not stop."""
        for _ in range(MOST_SAID):
            if not self.is_readable():
                break
            self.read()
        else:
            raise ConnectionError("the server says more than it was asked for")
        if not self.is_usable:
            raise ConnectionError("the server takes no more calls on this connection")
