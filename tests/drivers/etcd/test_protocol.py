"""The bytes between us and etcd, without a server."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fencepost.drivers.etcd import answer, hpack, huffman, protobuf
from fencepost.drivers.etcd.http2 import (
    ACK,
    DATA,
    END_HEADERS,
    END_STREAM,
    GOAWAY,
    HEADERS,
    MEASURED_EVERY,
    MEASURING_PING,
    PING,
    RESET,
    SETTINGS,
    WINDOW_UPDATE,
    Conversation,
    Method,
    Stream,
    frame,
)
from fencepost.drivers.etcd.request import created_at, prefix_end
from fencepost.drivers.etcd.trouble import RpcError, explain, result
from fencepost.errors import Refused, Unavailable

pytestmark = pytest.mark.unit

# Each takes microseconds, unless the machine is busy with something else.
LEISURELY = settings(deadline=None)
METHOD = Method("/package.Service/Call", "127.0.0.1:2379", tls=False, extra={})
DONE = hpack.encode([("grpc-status", "0")])


def message(body: bytes) -> bytes:
    return b"\x00" + len(body).to_bytes(4) + body


def frames(data: bytes) -> list[tuple[int, int, int, bytes]]:
    """Kind, flags, stream and payload of each."""
    found = []
    while data:
        size = int.from_bytes(data[:3])
        found.append((data[3], data[4], int.from_bytes(data[5:9]), data[9 : 9 + size]))
        data = data[9 + size :]
    return found


def answered(stream: Stream, body: bytes) -> bytes:
    return (
        frame(HEADERS, END_HEADERS, stream.id, b"\x88")
        + frame(DATA, 0, stream.id, message(body))
        + frame(HEADERS, END_HEADERS | END_STREAM, stream.id, DONE)
    )


# Protocol buffers


@LEISURELY
@given(st.lists(st.tuples(st.integers(1, 2000), st.one_of(st.integers(1, 2**63 - 1), st.binary(min_size=1)))))
def test_fields_come_back_as_they_were_written(written: list[tuple[int, int | bytes]]) -> None:
    data = b"".join(
        protobuf.number(field, value) if isinstance(value, int) else protobuf.text(field, value)
        for field, value in written
    )
    assert list(protobuf.fields(data)) == written


@LEISURELY
@given(st.binary(max_size=40))
def test_what_is_no_message_is_a_value_error_and_nothing_else(data: bytes) -> None:
    try:
        list(protobuf.fields(data))
    except ValueError:
        pass


def test_a_negative_number_comes_back_negative() -> None:
    assert answer.lease(b"\x18" + b"\xff" * 9 + b"\x01").seconds == -1


@LEISURELY
@given(st.integers(0, 2**63 - 1), st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1))
def test_the_revision_is_found_in_a_header(revision: int, cluster: int, member: int) -> None:
    header = b"".join(map(protobuf.number, (1, 2, 3, 4), (cluster, member, revision, 7)))
    assert answer.found(protobuf.message(1, header)).revision == revision


def test_a_comparison_with_nothing_says_so_in_full() -> None:
    assert created_at(b"k", 0).endswith(b"\x28\x00")


@LEISURELY
@given(st.binary(max_size=5))
def test_the_end_of_a_range_is_after_all_that_start_like_it(prefix: bytes) -> None:
    end = prefix_end(prefix)
    assert end == b"\x00" or (prefix + b"\xff" * 9 < end and not end.startswith(prefix + b"\x00"))


# Headers


def test_the_code_of_the_standards_own_examples() -> None:
    assert huffman.decode(bytes.fromhex("f1e3c2e5f23a6ba0ab90f4ff")) == b"www.example.com"
    assert huffman.decode(bytes.fromhex("a8eb10649cbf")) == b"no-cache"
    assert huffman.decode(bytes.fromhex("25a849e95bb8e8b4bf")) == b"custom-value"


def test_headers_come_back_as_they_were_written() -> None:
    headers = [("grpc-status", "14"), ("grpc-message", "etcdserver: no leader"), ("long", "x" * 300)]
    assert hpack.decode(hpack.encode(headers)) == {name.encode(): value.encode() for name, value in headers}


@LEISURELY
@given(st.binary(max_size=30))
def test_what_is_no_header_block_is_a_value_error_and_nothing_else(block: bytes) -> None:
    try:
        hpack.decode(block)
    except ValueError:
        pass


# Frames


@LEISURELY
@given(st.binary(min_size=1, max_size=300), st.data())
def test_an_answer_may_come_in_any_pieces(body: bytes, data: st.DataObject) -> None:
    talk = Conversation()
    stream, _ = talk.call(METHOD, b"ask")
    sent = answered(stream, body)
    while sent:
        size = data.draw(st.integers(1, len(sent)))
        talk.feed(sent[:size])
        sent = sent[size:]
    assert stream.done
    assert result(stream) == body


def test_answers_of_several_calls_may_come_in_any_order() -> None:
    talk = Conversation()
    one, _ = talk.call(METHOD, b"one")
    two, _ = talk.call(METHOD, b"two")
    stirred, _ = talk.feed(answered(two, b"2") + answered(one, b"1"))
    assert stirred == [two, one]
    assert (result(one), result(two)) == (b"1", b"2")


def test_more_is_not_sent_than_the_server_has_room_for() -> None:
    talk = Conversation()
    stream, now = talk.call(METHOD, b"x" * 100_000)
    sent = [payload for kind, _, _, payload in frames(now) if kind == DATA]
    assert sum(map(len, sent)) == 65_535
    assert max(map(len, sent)) <= 16_384
    _, more = talk.feed(frame(WINDOW_UPDATE, 0, stream.id, (1 << 20).to_bytes(4)))
    assert more == b""
    _, more = talk.feed(frame(WINDOW_UPDATE, 0, 0, (1 << 20).to_bytes(4)))
    rest = frames(more)
    assert rest[-1][1] == END_STREAM
    assert sum(len(payload) for _, _, _, payload in rest) == 100_005 - 65_535


def test_the_rest_of_a_call_that_was_ended_before_all_of_it_was_sent_is_in_nobody_s_way() -> None:
    talk = Conversation()
    talk.feed(frame(WINDOW_UPDATE, 0, 0, (1 << 20).to_bytes(4)))
    large, _ = talk.call(METHOD, b"x" * 100_000)
    too_large = hpack.encode([("grpc-status", "8"), ("grpc-message", "grpc: received message larger than max")])
    talk.feed(frame(HEADERS, END_HEADERS | END_STREAM, large.id, too_large))
    assert large.done
    small, now = talk.call(METHOD, b"small")
    assert [(kind, number) for kind, _, number, _ in frames(now)] == [(HEADERS, small.id), (DATA, small.id)]


def test_no_more_calls_run_at_once_than_the_server_allows() -> None:
    talk = Conversation()
    talk.feed(frame(SETTINGS, 0, 0, b"\x00\x03\x00\x00\x00\x01"))
    one, _ = talk.call(METHOD, b"one")
    two, now = talk.call(METHOD, b"two")
    assert now == b""
    _, later = talk.feed(answered(one, b"1"))
    assert [(kind, number) for kind, _, number, _ in frames(later)] == [(HEADERS, two.id), (DATA, two.id)]


def test_the_server_gets_back_the_room_it_has_used() -> None:
    talk = Conversation()
    stream, _ = talk.call(METHOD, b"")
    replies = b"".join(talk.feed(frame(DATA, 0, stream.id, b"x" * 16_384))[1] for _ in range(33))
    assert {(kind, number) for kind, _, number, _ in frames(replies)} == {
        (WINDOW_UPDATE, 0),
        (WINDOW_UPDATE, stream.id),
    }


def test_settings_and_pings_are_answered() -> None:
    talk = Conversation()
    _, reply = talk.feed(frame(SETTINGS, 0, 0) + frame(PING, 0, 0, b"12345678"))
    assert frames(reply) == [(SETTINGS, ACK, 0, b""), (PING, ACK, 0, b"12345678")]


def test_a_ping_that_measures_is_answered_with_one_of_many_calls() -> None:
    talk = Conversation()
    talk.call(METHOD, b"first")
    _, reply = talk.feed(frame(PING, 0, 0, MEASURING_PING))
    assert reply == b""
    said = b""
    for _ in range(MEASURED_EVERY):
        stream, data = talk.call(METHOD, b"")
        said += data
        talk.feed(frame(WINDOW_UPDATE, 0, 0, (5).to_bytes(4)) + answered(stream, b""))
    assert [payload for kind, _, _, payload in frames(said) if kind == PING] == [MEASURING_PING]


def test_a_server_that_leaves_ends_the_calls_it_has_not_taken() -> None:
    talk = Conversation()
    one, _ = talk.call(METHOD, b"one")
    two, _ = talk.call(METHOD, b"two")
    talk.feed(frame(GOAWAY, 0, 0, one.id.to_bytes(4) + bytes(4)))
    assert talk.leaving
    assert (one.done, two.done) == (False, True)
    with pytest.raises(RpcError, match="leaving"):
        result(two)


def test_a_call_that_the_server_ends_is_an_error_that_may_pass() -> None:
    talk = Conversation()
    stream, _ = talk.call(METHOD, b"")
    talk.feed(frame(RESET, 0, stream.id, bytes(4)))
    with pytest.raises(RpcError) as error:
        result(stream)
    assert isinstance(explain(error.value), Unavailable)


def test_what_is_no_http2_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="is this an etcd server"):
        Conversation().feed(b"HTTP/1.1 400 Bad Request\r\n\r\n")


# Errors


@pytest.mark.parametrize(
    ("code", "message", "kind"),
    [
        (14, "etcdserver: no leader", Unavailable),
        (14, "etcdserver: request timed out", Unavailable),
        (8, "etcdserver: too many requests", Unavailable),
        (8, "etcdserver: mvcc: database space exceeded", Refused),
        (8, "grpc: received message larger than max (2200205 vs. 2097152)", Refused),
        (7, "etcdserver: permission denied", Refused),
        (16, "etcdserver: invalid auth token", Refused),
        (3, "etcdserver: user name is empty", Refused),
        (13, "internal", Unavailable),
    ],
)
def test_an_error_says_whether_trying_again_can_help(code: int, message: str, kind: type[Exception]) -> None:
    assert type(explain(RpcError(code, message))) is kind
