"""A sentinel that says what a test tells it to."""

import socketserver
import threading
from types import TracebackType
from typing import Self

from fencepost.engines.redis.resp import Parser, bulk


class Sentinel:
    """Names the server at `master` to whoever asks anything; nobody while that is None."""

    def __init__(self, master: int | None) -> None:
        self.master = master
        sentinel = self

        class Conversation(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                # A slow one finds two questions in one piece, and answers both.
                questions = Parser()
                while data := self.request.recv(4096):
                    for _ in questions.feed(data):
                        self.request.sendall(sentinel._answer())

        self._server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Conversation)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=[0.01], daemon=True)

    @property
    def port(self) -> int:
        return self._server.server_address[1]

    def _answer(self) -> bytes:
        if self.master is None:
            return b"*-1\r\n"
        return b"*2\r\n" + bulk(b"127.0.0.1") + bulk(b"%d" % self.master)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def url_of(*sentinels: Sentinel) -> str:
    return f"redis+sentinel://{','.join(f'127.0.0.1:{each.port}' for each in sentinels)}/service"
