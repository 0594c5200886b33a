"""HTTP/2 as far as gRPC needs it, without sockets: bytes in, bytes out."""

from collections import deque

from fencepost.core.malformed import Malformed
from fencepost.drivers.etcd import hpack

DATA, HEADERS, RESET, SETTINGS, PUSH, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = 0, 1, 3, 4, 5, 6, 7, 8, 9
END_STREAM, END_HEADERS, PADDED, PRIORITY, ACK = 1, 4, 8, 0x20, 1
MAX_CONCURRENT_STREAMS, INITIAL_WINDOW_SIZE, MAX_FRAME_SIZE = 3, 4, 5
# What a stream is reset for: nobody needs the rest of it.
CANCEL = (8).to_bytes(4)
STANDARD_WINDOW = 65_535
OUR_WINDOW = 1 << 20
# Header table of size 0, no server push, and room for answers.
OUR_SETTINGS = b"\x00\x01\x00\x00\x00\x00" + b"\x00\x02\x00\x00\x00\x00" + b"\x00\x04" + OUR_WINDOW.to_bytes(4)
# The largest answer, frame and header block that are taken. Whoever announces or sends more is left. We did not ask for
# larger frames than the standard's, and gRPC sends no headers of that size.
LARGEST_MESSAGE = 64 << 20
LARGEST_FRAME = 16_384
LARGEST_HEADERS = 64 << 10
LAST_STREAM = (1 << 31) - 1
# With this ping gRPC's servers measure the link, again as soon as it is answered. Answered at once, every call would
# cost one more packet each way; so it is answered along with one call in so many.
MEASURING_PING = bytes([2, 4, 16, 16, 9, 14, 7, 7])
MEASURED_EVERY = 1_000


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    return b"%b%c%c%b%b" % (len(payload).to_bytes(3), kind, flags, stream.to_bytes(4), payload)


PREFACE = (
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
    + frame(SETTINGS, 0, 0, OUR_SETTINGS)
    + frame(WINDOW_UPDATE, 0, 0, (OUR_WINDOW - STANDARD_WINDOW).to_bytes(4))
)


# How the headers begin that nearly all answers have, by which nothing else is worth a look: ":status 200".
SIMPLY_GOOD = (b"\x88", hpack.NO_TABLE + b"\x88")


class Method:
    """The headers of one kind of call, encoded once."""

    __slots__ = ("block", "start")

    def __init__(self, path: str, authority: str, *, tls: bool, extra: dict[str, str]) -> None:
        headers = [
            (":method", "POST"),
            (":scheme", "https" if tls else "http"),
            (":path", path),
            (":authority", authority),
            ("content-type", "application/grpc"),
            ("te", "trailers"),
            *extra.items(),
        ]
        # What we put into the table of the server is nothing. To one that makes it smaller, that has to be said.
        self.block = hpack.NO_TABLE + hpack.encode(headers)
        self.start = b"%b%c%c" % (len(self.block).to_bytes(3), HEADERS, END_HEADERS)


class Stream:
    """One call: what has come of its answer, and with `done` how it ended."""

    __slots__ = ("_inbox", "done", "headers", "id", "owed", "window")

    def __init__(self, number: int, window: int) -> None:
        self.id = number
        self.window = window
        self.owed = 0
        self.done = False
        self.headers: dict[bytes, bytes] = {}
        # Grown in place: an answer may come in thousands of frames.
        self._inbox: bytes | bytearray = b""

    def receive(self, data: bytes) -> None:
        inbox = self._inbox
        if not inbox:
            self._inbox = data
            return
        if len(inbox) + len(data) > LARGEST_MESSAGE + LARGEST_FRAME:
            raise Malformed("an answer without an end")
        if not isinstance(inbox, bytearray):
            inbox = self._inbox = bytearray(inbox)
        inbox += data

    def messages(self) -> list[bytes]:
        """The messages that are complete by now; each is given once."""
        inbox, place, found = self._inbox, 0, []
        while len(inbox) - place >= 5:
            size = int.from_bytes(inbox[place + 1 : place + 5])
            if inbox[place] or size > LARGEST_MESSAGE:
                raise Malformed("a compressed or oversized message")
            if len(inbox) - place - 5 < size:
                break
            found.append(bytes(inbox[place + 5 : place + 5 + size]))
            place += 5 + size
        if place:
            self._inbox = inbox[place:]
        return found


class Conversation:
    """One connection, seen from the client."""

    def __init__(self) -> None:
        self.streams: dict[int, Stream] = {}
        # Whether the server has introduced itself.
        self.greeted = False
        # Whether the server takes no more calls on this connection.
        self.leaving = False
        self._next = 1
        self._window = STANDARD_WINDOW
        self._stream_window = STANDARD_WINDOW
        self._frame_size = 16_384
        self._most_streams = 1 << 31
        self._owed = 0
        self._rest = b""
        self._block: tuple[int, int, bytes] | None = None
        self._outbox: deque[tuple[Stream, bytes, int]] = deque()
        # The streams that we began and did not end: they count for the server until we do.
        self._speaking: set[int] = set()
        self._reply: list[bytes] = []
        # Those that ended with a frame that was about the connection itself.
        self._ended: list[Stream] = []
        self._measured = b""
        self._trailers: dict[bytes, dict[bytes, bytes]] = {}

    def call(self, method: Method, body: bytes, *, last: bool = True) -> tuple[Stream, bytes]:
        """A new stream with its first message, and what to send now; without `last`, more may follow."""
        number = self._next
        self._next += 2
        if number == LAST_STREAM:
            # No other call has a number on this connection.
            self.leaving = True
        stream = Stream(number, self._stream_window)
        size = len(body) + 5
        free = len(self.streams) < self._most_streams and not self._outbox
        self.streams[number] = stream
        if free and size <= self._window and size <= stream.window and size <= self._frame_size:
            self._window -= size
            stream.window -= size
            mark = number.to_bytes(4)
            flag = END_STREAM if last else 0
            if not last:
                self._speaking.add(number)
            pieces = (method.start, mark, method.block, size.to_bytes(3), b"\x00%c" % flag, mark, _prefix(body), body)
            if self._measured and number // 2 % MEASURED_EVERY == 0:
                answer, self._measured = self._measured, b""
                return stream, answer + b"".join(pieces)
            return stream, b"".join(pieces)
        self._outbox.append((stream, method.start + number.to_bytes(4) + method.block, -1))
        self._outbox.append((stream, _prefix(body) + body, END_STREAM if last else 0))
        return stream, self._flush()

    def send(self, stream: Stream, body: bytes) -> bytes:
        """One more message on a stream; what to send now."""
        self._outbox.append((stream, _prefix(body) + body, 0))
        return self._flush()

    def cancel(self, stream: Stream) -> bytes:
        """Nobody waits for this answer any more; what to send."""
        if self.streams.pop(stream.id, None) is None:
            return b""
        unsent = any(each is stream and flags < 0 for each, _, flags in self._outbox)
        self._outbox = deque(each for each in self._outbox if each[0] is not stream)
        self._speaking.discard(stream.id)
        return b"" if unsent else frame(RESET, 0, stream.id, CANCEL)

    def feed(self, data: bytes) -> tuple[list[Stream], bytes]:
        """The streams of which something has come, and what to send now. Raises `Malformed` if this is no HTTP/2."""
        if self._rest:
            data = self._rest + data
        stirred: list[Stream] = []
        place, end = 0, len(data)
        while end - place >= 9:
            size = int.from_bytes(data[place : place + 3])
            stop = place + 9 + size
            if size > LARGEST_FRAME:
                raise Malformed("an oversized frame: is this an etcd server?")
            if stop > end:
                break
            number = int.from_bytes(data[place + 5 : place + 9]) & 0x7FFFFFFF
            stream = self._take(data[place + 3], data[place + 4], number, data[place + 9 : stop])
            if stream is not None and (not stirred or stirred[-1] is not stream):
                stirred.append(stream)
            place = stop
        self._rest = data[place:]
        if self._ended:
            stirred += self._ended
            self._ended.clear()
        if self._outbox:
            self._reply.append(self._flush())
        if not self._reply:
            return stirred, b""
        reply = b"".join(self._reply)
        self._reply.clear()
        return stirred, reply

    def _take(self, kind: int, flags: int, number: int, payload: bytes) -> Stream | None:
        if self._block is not None and kind != CONTINUATION:
            raise Malformed("a header block that is not continued")
        stream = self.streams.get(number)
        if kind == DATA:
            self._owe(stream, len(payload))
            if stream is not None:
                stream.receive(_unpadded(payload, flags))
                if flags & END_STREAM:
                    self._answered(stream)
            return stream
        if kind == HEADERS:
            payload = _unpadded(payload, flags)
            return self._headers(number, flags, payload[5:] if flags & PRIORITY else payload)
        if kind == CONTINUATION:
            if self._block is None:
                raise Malformed("a continuation of nothing")
            before, began, block = self._block
            if number != before:
                raise Malformed("a header block that another stream continues")
            self._block = None
            return self._headers(number, began | flags & END_HEADERS, block + payload)
        if kind == RESET and stream is not None and len(payload) == 4:
            stream.headers.setdefault(b"grpc-message", b"the server ended the call")
            self._finish(stream)
            return stream
        self._manage(kind, flags, number, payload)
        return None

    def _headers(self, number: int, flags: int, block: bytes) -> Stream | None:
        if len(block) > LARGEST_HEADERS:
            raise Malformed("headers without an end")
        if not flags & END_HEADERS:
            self._block = (number, flags & END_STREAM, block)
            return None
        stream = self.streams.get(number)
        if stream is None:
            return None
        if flags & END_STREAM:
            # Nearly all calls end with the same few bytes.
            known = self._trailers.get(block)
            if known is None:
                known = hpack.decode(block)
                if known.get(b"grpc-status") == b"0":
                    self._trailers = {block: known}
            stream.headers = {**stream.headers, **known} if stream.headers else known
            self._answered(stream)
        elif not block.startswith(SIMPLY_GOOD):
            stream.headers = hpack.decode(block)
        return stream

    def _answered(self, stream: Stream) -> None:
        """The server has said all of its answer, to what we perhaps have not said all of."""
        if stream.id in self._speaking:
            self._reply.append(frame(RESET, 0, stream.id, CANCEL))
        self._finish(stream)

    def _finish(self, stream: Stream) -> None:
        stream.done = True
        self.streams.pop(stream.id, None)
        self._speaking.discard(stream.id)
        if self._outbox:
            # A call may be ended before all of it was sent. Nobody makes room for the rest, and all else is behind it.
            self._outbox = deque(each for each in self._outbox if each[0] is not stream)

    def _manage(self, kind: int, flags: int, number: int, payload: bytes) -> None:
        """Frames that are about the connection itself."""
        if not _is_sound(kind, flags, number, len(payload)):
            raise Malformed("a frame that is no such frame")
        if kind == SETTINGS and not flags & ACK:
            self.greeted = True
            for place in range(0, len(payload), 6):
                self._set(int.from_bytes(payload[place : place + 2]), int.from_bytes(payload[place + 2 : place + 6]))
            self._reply.append(frame(SETTINGS, ACK, 0))
        elif kind == PING and not flags & ACK:
            if payload == MEASURING_PING:
                self._measured = frame(PING, ACK, 0, payload)
            else:
                self._reply.append(frame(PING, ACK, 0, payload))
        elif kind == WINDOW_UPDATE:
            grown = int.from_bytes(payload[:4]) & 0x7FFFFFFF
            if number == 0:
                self._window += grown
            elif number in self.streams:
                self.streams[number].window += grown
        elif kind == GOAWAY:
            self.leaving = True
            last = int.from_bytes(payload[:4]) & 0x7FFFFFFF
            for each in [each for each in self.streams.values() if each.id > last]:
                each.headers = {b"grpc-message": b"the server is leaving"}
                self._finish(each)
                self._ended.append(each)

    def _set(self, what: int, value: int) -> None:
        if what == INITIAL_WINDOW_SIZE:
            for stream in self.streams.values():
                stream.window += value - self._stream_window
            self._stream_window = value
        elif what == MAX_FRAME_SIZE:
            if value < LARGEST_FRAME:
                raise Malformed("a server that takes frames of no size")
            self._frame_size = min(value, 1 << 20)
        elif what == MAX_CONCURRENT_STREAMS:
            self._most_streams = value

    def _owe(self, stream: Stream | None, size: int) -> None:
        """Give the server back the room it has used, once half of it is."""
        self._owed += size
        if self._owed > OUR_WINDOW // 2:
            self._reply.append(frame(WINDOW_UPDATE, 0, 0, self._owed.to_bytes(4)))
            self._owed = 0
        if stream is not None:
            stream.owed += size
            if stream.owed > OUR_WINDOW // 2:
                self._reply.append(frame(WINDOW_UPDATE, 0, stream.id, stream.owed.to_bytes(4)))
                stream.owed = 0

    def _flush(self) -> bytes:
        """As much of what waits to be sent as the server has room for."""
        found = []
        while self._outbox:
            stream, payload, flags = self._outbox[0]
            if flags < 0:
                if sum(each.id <= stream.id for each in self.streams.values()) > self._most_streams:
                    break
                found.append(payload)
                self._speaking.add(stream.id)
                self._outbox.popleft()
                continue
            room = min(self._window, stream.window, self._frame_size)
            if room <= 0:
                break
            piece, rest = payload[:room], payload[room:]
            self._window -= len(piece)
            stream.window -= len(piece)
            found.append(frame(DATA, 0 if rest else flags, stream.id, piece))
            if rest:
                self._outbox[0] = (stream, rest, flags)
            else:
                self._outbox.popleft()
                if flags & END_STREAM:
                    self._speaking.discard(stream.id)
        return b"".join(found)


def _is_sound(kind: int, flags: int, number: int, size: int) -> bool:
    """Whether a frame of that kind may have that size, and be about that stream: 0 is the connection."""
    if kind == WINDOW_UPDATE:
        return size == 4
    if kind == PING:
        return size == 8 and number == 0
    if kind == SETTINGS:
        return size % 6 == 0 and number == 0 and not (flags & ACK and size)
    if kind == GOAWAY:
        return size >= 8 and number == 0
    if kind == RESET:
        return size == 4 and number > 0
    # We take no pushes. What is of no kind that we know is for somebody else.
    return kind != PUSH


def _prefix(body: bytes) -> bytes:
    """Before every message of gRPC: not compressed, and how long."""
    return b"\x00" + len(body).to_bytes(4)


def _unpadded(payload: bytes, flags: int) -> bytes:
    if not flags & PADDED:
        return payload
    if not payload or payload[0] >= len(payload):
        raise Malformed("a frame with more padding than there is of it")
    return payload[1 : len(payload) - payload[0]]
