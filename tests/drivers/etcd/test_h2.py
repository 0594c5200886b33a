"""Our end of HTTP/2 beside h2's: as a server it hears every call as it was meant, and is heard in turn; as a client, it
makes of what a server says the same as we do."""

from io import BytesIO
from typing import Any

import hyperframe.frame as frames
import pytest
from h2 import events
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.exceptions import H2Error, NoAvailableStreamIDError
from h2.settings import SettingCodes, Settings
from hpack import Encoder
from hypothesis import strategies as st

from fencepost.core.malformed import Malformed
from fencepost.drivers.etcd.http2 import (
    ACK,
    DATA,
    END_HEADERS,
    END_STREAM,
    GOAWAY,
    LARGEST_MESSAGE,
    LAST_STREAM,
    PING,
    PREFACE,
    PUSH,
    RESET,
    SETTINGS,
    WINDOW_UPDATE,
    Conversation,
    Method,
    Stream,
    frame,
)
from fencepost.drivers.etcd.trouble import RpcError, result
from tests.support.course import cut, harmed, sizes, tried

METHOD = Method("/package.Service/Call", "127.0.0.1:2379", tls=False, extra={"token": "t" * 200})
ASKED = [
    (b":method", b"POST"),
    (b":scheme", b"http"),
    (b":path", b"/package.Service/Call"),
    (b":authority", b"127.0.0.1:2379"),
    (b"content-type", b"application/grpc"),
    (b"te", b"trailers"),
    (b"token", b"t" * 200),
]


def text(length: int) -> bytes:
    return (b"%07d" % length * (length // 7 + 1))[:length]


def message(body: bytes) -> bytes:
    return b"\x00" + len(body).to_bytes(4) + body


class Server:
    """An end of h2's, and ours, with the bytes between them cut into pieces."""

    def __init__(self, pieces: list[int], initial: dict[SettingCodes, int]) -> None:
        self.talk = Conversation()
        self.end = H2Connection(H2Configuration(client_side=False, header_encoding=None))
        self.end.local_settings = Settings(client=False, initial_values=initial)
        self.end.max_inbound_frame_size = self.end.local_settings.max_frame_size
        self.pieces = pieces
        self.asked: dict[int, bytes] = {}
        self.ended: set[int] = set()
        self.acknowledged = 0
        self.end.initiate_connection()
        self.carry(PREFACE)

    def carry(self, said: bytes) -> None:
        """To the server, and to and fro until nobody has anything to say."""
        while True:
            for piece in self.cut(said):
                for event in self.end.receive_data(piece):
                    self.hear(event)
            answer, said = self.end.data_to_send(), b""
            if not answer:
                return
            for piece in self.cut(answer):
                said += self.talk.feed(piece)[1]

    def cut(self, data: bytes) -> list[bytes]:
        """Into fifty pieces at most."""
        return cut(data, [max(size, len(data) // 50) for size in self.pieces])

    def hear(self, event: events.Event) -> None:
        match event:
            case events.RequestReceived():
                assert [(bytes(name), bytes(value)) for name, value in event.headers] == ASKED
                self.asked[event.stream_id] = b""
            case events.DataReceived():
                self.asked[event.stream_id] += event.data
                self.end.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            case events.StreamEnded():
                self.ended.add(event.stream_id)
            case events.PingAckReceived():
                self.acknowledged += 1

    def answer(self, number: int, body: bytes, padding: int | None) -> None:
        """In frames of these sizes; the trailers are in full, so that they are cut as well."""
        self.end.send_headers(number, [(b":status", b"200"), (b"content-type", b"application/grpc")])
        for piece in self.cut(message(body)):
            # There is room again for whatever was said before.
            self.end.send_data(number, piece, pad_length=padding)
            self.carry(b"")
        self.end.send_headers(number, [(b"grpc-status", b"0"), (b"grpc-message", b"")], end_stream=True)
        self.carry(b"")


lengths = st.integers(0, 40) | st.sampled_from([16_379, 20_000])
initial = st.fixed_dictionaries(
    {},
    optional={
        SettingCodes.INITIAL_WINDOW_SIZE: st.sampled_from([500, 16_384, 2**31 - 1]),
        SettingCodes.MAX_FRAME_SIZE: st.sampled_from([16_384, 2**24 - 1]),
        SettingCodes.MAX_CONCURRENT_STREAMS: st.integers(1, 3),
        SettingCodes.HEADER_TABLE_SIZE: st.sampled_from([0, 4096]),
    },
)
acts = st.lists(
    st.one_of(
        st.tuples(st.just("call"), lengths, st.booleans()),
        st.tuples(st.just("answer"), lengths, st.none() | st.integers(0, 255)),
        st.tuples(st.just("ping"), st.binary(min_size=8, max_size=8)),
        st.tuples(st.just("settings"), initial),
        st.tuples(st.just("reset")),
        st.tuples(st.just("cancel")),
    ),
    max_size=8,
)


CALL = [("call", 40, False), ("answer", 40, 3)]
KNOWN_TALKS = [
    # A table that is made smaller has to be told so.
    {"pieces": [100], "initial": {}, "acts": [("settings", {SettingCodes.HEADER_TABLE_SIZE: 0}), *CALL]},
    # Room for a byte at a time.
    {"pieces": [1], "initial": {SettingCodes.INITIAL_WINDOW_SIZE: 1}, "acts": CALL},
    # A stream that the server alone has ended still takes the place of another.
    {"pieces": [100], "initial": {SettingCodes.MAX_CONCURRENT_STREAMS: 1}, "acts": [*CALL, *CALL]},
]
lengths_of_pieces = st.lists(st.integers(1, 16_000), min_size=1, max_size=4)


@tried(12, 400, *KNOWN_TALKS, pieces=lengths_of_pieces, initial=initial, acts=acts)
def test_h2_as_a_server_hears_what_we_say_and_is_heard(
    pieces: list[int], initial: dict[SettingCodes, int], acts: list[Any]
) -> None:
    server = Server(pieces, initial)
    open: dict[int, tuple[Stream, bytes]] = {}
    pings = 0
    for what, *how in acts:
        if what == "call":
            body, last = text(how[0]), how[1]
            stream, said = server.talk.call(METHOD, body, last=last)
            server.carry(said)
            open[stream.id] = (stream, message(body))
            if not last:
                server.carry(server.talk.send(stream, b"more"))
                open[stream.id] = (stream, message(body) + message(b"more"))
        elif what == "ping":
            server.end.ping(how[0])
            pings += 1
            server.carry(b"")
        elif what == "settings":
            server.end.update_settings(how[0])
            server.carry(b"")
        elif heard := [number for number in open if number in server.asked]:
            number = heard[0]
            stream, asked = open.pop(number)
            assert server.asked[number] == asked
            if what == "answer":
                server.answer(number, text(how[0]), how[1])
                assert result(stream) == text(how[0])
            elif what == "reset":
                server.end.reset_stream(number, ErrorCodes.CANCEL)
                server.carry(b"")
                with pytest.raises(RpcError):
                    result(stream)
            else:
                server.carry(server.talk.cancel(stream))
            assert stream.id not in server.talk.streams
    assert server.acknowledged == pings
    assert server.talk.greeted


# Frames of a server, in any order

blocks = st.sampled_from(
    [
        [(b":status", b"200"), (b"content-type", b"application/grpc")],
        [(b":status", b"404"), (b"grpc-status", b"12")],
        [(b":status", b"503"), (b"server", b"proxy"), (b"grpc-message", b"no")],
        [(b":status", b"200"), (b"grpc-status", b"0"), (b"grpc-message", b"")],
        [(b"grpc-status", b"0"), (b"grpc-message", b"")],
        [(b"grpc-status", b"14"), (b"grpc-message", b"no leader")],
    ]
)
numbers = st.sampled_from([1, 1, 1, 3, 3, 0, 2, 5])
flags = st.sets(st.sampled_from(["END_STREAM"]))


def headed(number: int, fields: list[tuple[bytes, bytes]], flags: set[str], at: int | None, coded: bool) -> bytes:
    """A block, at that place continued in a frame of its own."""
    encoder = Encoder()
    encoder.header_table_size = 0
    block = encoder.encode(fields, huffman=coded)
    first, rest = (block, b"") if at is None else (block[:at], block[at:])
    head = frames.HeadersFrame(number or 1, first, flags=[*flags, *([] if rest else ["END_HEADERS"])])
    more = frames.ContinuationFrame(number or 1, rest, flags=["END_HEADERS"])
    return head.serialize() + (more.serialize() if rest else b"")


def padded(number: int, body: bytes, flags: set[str], padding: int | None) -> bytes:
    made = frames.DataFrame(number or 1, body, flags=[*flags, *([] if padding is None else ["PADDED"])])
    made.pad_length = padding or 0
    return made.serialize()


said = st.one_of(
    st.builds(headed, numbers, blocks, flags, st.none() | st.integers(0, 20), st.booleans()),
    st.builds(headed, numbers, blocks, flags, st.none() | st.integers(0, 20), st.booleans()),
    st.builds(padded, numbers, st.binary(max_size=5).map(message), flags, st.none() | st.integers(0, 9)),
    st.builds(lambda number, code: frames.RstStreamFrame(number or 1, code).serialize(), numbers, st.integers(0, 13)),
    st.builds(lambda body: frames.PingFrame(0, body).serialize(), st.binary(min_size=8, max_size=8)),
    st.builds(lambda to: frames.WindowUpdateFrame(0, to).serialize(), st.integers(1, 2**20)),
    st.builds(lambda last: frames.GoAwayFrame(0, last, 0, b"bye").serialize(), st.sampled_from([0, 1, 2**31 - 1])),
    st.builds(lambda kind, body: frame(kind, 0, 1, body), st.integers(11, 255), st.binary(max_size=5)),
    st.dictionaries(st.integers(3, 6), st.just(16_384)).map(lambda table: frames.SettingsFrame(0, table).serialize()),
)


# Once taken for the status 200, of which the third byte is in what follows.
ELSEWHERE = headed(1, [(b":status", b"404"), (b"grpc-status", b"12")], set(), None, True)
KNOWN = [{"data": ELSEWHERE + frame(DATA, END_STREAM, 1), "pieces": [100]}]


class Heard:
    """What became of a call."""

    def __init__(self) -> None:
        self.headers: dict[bytes, bytes] = {}
        self.body = b""
        self.end = ""


OURS = {SettingCodes.HEADER_TABLE_SIZE: 0, SettingCodes.ENABLE_PUSH: 0, SettingCodes.INITIAL_WINDOW_SIZE: 1 << 20}


def read_by_h2(data: bytes) -> dict[int, Heard] | None:
    """What becomes of two calls; None if the server said what is none of HTTP/2, or that it leaves."""
    end = H2Connection(H2Configuration(client_side=True, header_encoding=None))
    end.local_settings = Settings(client=True, initial_values=OURS)
    end.initiate_connection()
    found = {1: Heard(), 3: Heard()}
    for number in found:
        end.send_headers(number, ASKED, end_stream=True)
    try:
        heard = end.receive_data(data)
    except H2Error:
        return None
    for event in heard:
        match event:
            case events.ResponseReceived() | events.TrailersReceived():
                # Behind ":status 200" we look at nothing, unless it is the end.
                if event.stream_ended or event.headers[0] != (b":status", b"200"):
                    found[event.stream_id].headers |= dict(event.headers)
            case events.DataReceived():
                found[event.stream_id].body += event.data
            case events.StreamEnded():
                found[event.stream_id].end = "answered"
            case events.StreamReset():
                found[event.stream_id].end = found[event.stream_id].end or "reset"
            case events.ConnectionTerminated():
                # What it says from there on it does not look at.
                return None
    return found


def read_by_us(data: bytes, pieces: list[int]) -> dict[int, Stream] | None:
    """What becomes of two calls; None if it is malformed. Each that is over was told to be so."""
    talk = Conversation()
    streams = {number: talk.call(METHOD, b"")[0] for number in (1, 3)}
    stirred: set[Stream] = set()
    try:
        for piece in cut(data, pieces):
            stirred.update(talk.feed(piece)[0])
    except Malformed:
        return None
    assert {stream for stream in streams.values() if stream.done} <= stirred
    return streams


@tried(80, 1500, *KNOWN, data=harmed(st.lists(said, max_size=5).map(b"".join), b"\x01", b"\x04"), pieces=sizes)
def test_what_a_server_says_is_taken_as_h2_takes_it_or_malformed(data: bytes, pieces: list[int]) -> None:
    expected, streams = read_by_h2(data), read_by_us(data, pieces)
    # Laxer: we do not insist on the order of the frames of one stream, nor on streams that nobody has opened.
    if expected is None or streams is None:
        return
    for number, heard in expected.items():
        stream = streams[number]
        assert stream.done == bool(heard.end)
        if heard.end == "answered":
            assert bytes(stream._inbox) == heard.body
            for name in (b":status", b"grpc-status", b"grpc-message"):
                assert stream.headers.get(name, b"200") == heard.headers.get(name, b"200")


@pytest.mark.unit
@pytest.mark.parametrize(
    "said",
    [
        frame(PING, 0, 0, b"1234567"),
        frame(PING, 0, 0, bytes(10_000)),
        frame(PING, 0, 1, b"12345678"),
        frame(SETTINGS, 0, 0, bytes(7)),
        frame(SETTINGS, 0, 1),
        frame(SETTINGS, ACK, 0, bytes(6)),
        frame(GOAWAY, 0, 0, bytes(7)),
        frame(GOAWAY, 0, 1, bytes(8)),
        frame(WINDOW_UPDATE, 0, 0, b"\1"),
        frame(WINDOW_UPDATE, 0, 1, bytes(5)),
        frame(RESET, 0, 1, bytes(3)),
        frame(RESET, 0, 0, bytes(4)),
        frame(PUSH, END_HEADERS, 1, (2).to_bytes(4)),
    ],
    ids=lambda said: f"kind {said[3]} of {len(said) - 9} bytes about {said[8]}",
)
def test_a_frame_that_says_less_or_more_than_its_kind_does_is_malformed(said: bytes) -> None:
    assert read_by_h2(said) is None
    assert read_by_us(said, [100]) is None


@pytest.mark.unit
def test_calls_that_a_server_leaves_without_are_told_so_at_once() -> None:
    talk = Conversation()
    taken, left = (talk.call(METHOD, b"")[0] for _ in range(2))
    stirred, _ = talk.feed(frames.GoAwayFrame(0, taken.id).serialize())
    assert stirred == [left]


@pytest.mark.unit
def test_the_last_call_that_has_a_number_is_the_last_one_on_its_connection() -> None:
    end = H2Connection(H2Configuration(client_side=True))
    end.highest_outbound_stream_id = LAST_STREAM
    with pytest.raises(NoAvailableStreamIDError):
        end.get_next_available_stream_id()
    talk = Conversation()
    talk._next = LAST_STREAM - 2
    talk.call(METHOD, b"")
    assert not talk.leaving
    talk.call(METHOD, b"")
    assert talk.leaving


# Messages of gRPC in a stream: each behind a byte for no compression, and its length

several = st.lists(st.binary(max_size=9).map(message), max_size=4).map(b"".join)


def read_in_full(data: bytes) -> tuple[list[bytes], bool]:
    """The messages that are whole, and whether what comes next can be none; as its specification has it."""
    found: list[bytes] = []
    file = BytesIO(data)
    while head := file.read(5):
        if head[0] or int.from_bytes(head[1:5].ljust(4, b"\0")) > LARGEST_MESSAGE:
            return found, len(head) == 5
        body = file.read(int.from_bytes(head[1:5]))
        if len(head) < 5 or len(body) < int.from_bytes(head[1:5]):
            break
        found.append(body)
    return found, False


@tried(60, 1500, data=harmed(several, b"\0\0\0\0", b"\1"), pieces=sizes)
def test_messages_are_cut_alike_whatever_the_pieces(data: bytes, pieces: list[int]) -> None:
    expected, malformed = read_in_full(data)
    stream, found = Stream(1, 0), []
    try:
        for piece in cut(data, pieces):
            stream.receive(piece)
            found += stream.messages()
    except Malformed:
        # What came in one piece with it is not taken.
        assert malformed
        assert found == expected[: len(found)]
    else:
        assert (found, False) == (expected, malformed)
