"""Bytes that a server of etcd would send, and what becomes of them on the way: without a server.

The messages are compared with those of Google's own library. The headers and frames are our own both ways.
"""

import random
from collections.abc import Callable

import pytest
from aetcd.rpc import kv_pb2, rpc_pb2

from fencepost.core.malformed import Malformed
from fencepost.drivers.etcd import answer, hpack, http2
from fencepost.drivers.etcd.http2 import (
    CONTINUATION,
    DATA,
    END_HEADERS,
    END_STREAM,
    GOAWAY,
    HEADERS,
    PADDED,
    PING,
    RESET,
    SETTINGS,
    WINDOW_UPDATE,
    Conversation,
    Method,
    Stream,
    frame,
)
from fencepost.drivers.etcd.trouble import RpcError, result

pytestmark = pytest.mark.unit

ROUNDS = 2_000
METHOD = Method("/package.Service/Call", "127.0.0.1:2379", tls=False, extra={})
DONE = hpack.encode([("grpc-status", "0")])


def mutated(data: bytes, dice: random.Random) -> bytes:
    for _ in range(dice.randint(1, 5)):
        at = dice.randrange(len(data) + 1)
        junk = dice.choice([b"", b"\xff", b"\0", b"\x7f", b"\xff" * 9, b"\x80" * 12, dice.randbytes(3)])
        data = data[:at] + junk + data[at + dice.choice([0, 1, 1, 4]) :]
    return data


# Messages


def header(dice: random.Random) -> rpc_pb2.ResponseHeader:
    return rpc_pb2.ResponseHeader(
        cluster_id=dice.getrandbits(64), member_id=dice.getrandbits(64), revision=number(dice)
    )


def number(dice: random.Random) -> int:
    return dice.choice([0, 1, 127, 128, dice.getrandbits(63)])


def pair(dice: random.Random) -> kv_pb2.KeyValue:
    return kv_pb2.KeyValue(
        key=dice.randbytes(dice.randrange(40)),
        create_revision=number(dice),
        mod_revision=number(dice),
        version=number(dice),
        value=dice.randbytes(dice.choice([0, 3, 200])),
        lease=number(dice),
    )


def as_ours(found: kv_pb2.KeyValue) -> answer.KeyValue:
    return answer.KeyValue(found.key, found.create_revision, found.mod_revision, found.value, found.lease)


def ranged(dice: random.Random) -> rpc_pb2.RangeResponse:
    pairs = [pair(dice) for _ in range(dice.randrange(4))]
    return rpc_pb2.RangeResponse(header=header(dice), kvs=pairs, more=dice.random() < 0.5, count=number(dice))


def test_what_google_writes_is_read_as_it_was_meant(dice: random.Random) -> None:
    for _ in range(ROUNDS // 10):
        read = ranged(dice)
        found = answer.found(read.SerializeToString())
        assert found == answer.Found(read.header.revision, [as_ours(each) for each in read.kvs], read.more)
        part = rpc_pb2.ResponseOp(response_range=read)
        done = rpc_pb2.TxnResponse(header=header(dice), succeeded=dice.random() < 0.5, responses=[part, part])
        outcome = answer.outcome(done.SerializeToString())
        assert (outcome.revision, outcome.succeeded) == (done.header.revision, done.succeeded)
        assert outcome.reads(2) == outcome.parts == [found, found]
        left = rpc_pb2.LeaseTimeToLiveResponse(
            header=header(dice), TTL=dice.choice([-1, 5]), grantedTTL=number(dice), keys=[b"a", b"", b"b"]
        )
        lease = answer.lease(left.SerializeToString())
        assert lease == answer.Lease(left.TTL, left.grantedTTL, list(left.keys))


DECODERS: list[Callable[[bytes], object]] = [
    lambda data: answer.found(data),
    lambda data: answer.outcome(data).parts,
    lambda data: answer.outcome(data).reads(1),
    lambda data: answer.outcome(data).nested(2),
    lambda data: answer.lease(data),
    lambda data: [answer.change(event) for event in answer.news(data).events],
    lambda data: answer.token(data),
    lambda data: answer.status(data),
]


@pytest.mark.parametrize("decode", DECODERS)
def test_what_is_no_message_is_malformed_and_nothing_else(
    decode: Callable[[bytes], object], dice: random.Random
) -> None:
    for _ in range(ROUNDS):
        whole = rpc_pb2.TxnResponse(
            header=header(dice), succeeded=True, responses=[rpc_pb2.ResponseOp(response_range=ranged(dice))]
        ).SerializeToString()
        data = dice.choice([whole, ranged(dice).SerializeToString(), dice.randbytes(30)])
        try:
            decode(mutated(data, dice))
        except Malformed:
            pass


def test_a_field_of_another_kind_is_malformed() -> None:
    # Field 1 is a message, and here a number; field 2 of a transaction is a number, and here bytes.
    for data in (b"\x08\x05", b"\x12\x01a"):
        with pytest.raises(Malformed):
            answer.outcome(data)
    with pytest.raises(Malformed):
        answer.found(b"\x10\x05")


# Headers


def test_headers_come_back_as_they_were_written(dice: random.Random) -> None:
    for _ in range(ROUNDS // 10):
        headers = {f"name-{each}": "v" * dice.choice([0, 1, 126, 127, 128, 5000]) for each in range(dice.randrange(5))}
        found = hpack.decode(hpack.encode(list(headers.items())))
        assert found == {name.encode(): value.encode() for name, value in headers.items()}


def test_what_is_no_header_block_is_malformed_and_nothing_else(dice: random.Random) -> None:
    for _ in range(ROUNDS):
        block = hpack.encode([("grpc-status", "14"), ("grpc-message", "m" * dice.randrange(200))])
        try:
            hpack.decode(mutated(block, dice))
        except Malformed:
            pass


@pytest.mark.parametrize("first", [b"\xff", b"\x3f", b"\x7f", b"\x0f", b"\x00\x7f"])
def test_a_number_without_an_end_is_malformed(first: bytes) -> None:
    with pytest.raises(Malformed):
        hpack.decode(first + b"\xff" * 1_000_000 + b"\x01")


# Frames


def spoken(stream: Stream, dice: random.Random) -> bytes:
    """What a server may say, the answer to the stream among it."""
    body = dice.randbytes(dice.choice([0, 5, 300]))
    message = b"\x00" + len(body).to_bytes(4) + body
    cut = dice.randrange(len(DONE))
    return b"".join(
        [
            frame(SETTINGS, 0, 0, b"\x00\x04\x00\x10\x00\x00"),
            frame(PING, 0, 0, b"12345678"),
            frame(HEADERS, END_HEADERS, stream.id, b"\x88"),
            frame(DATA, PADDED, stream.id, b"\x03" + message[:4] + b"\0\0\0"),
            frame(WINDOW_UPDATE, 0, 0, (1000).to_bytes(4)),
            frame(DATA, 0, stream.id, message[4:]),
            frame(HEADERS, END_STREAM, stream.id, DONE[:cut]),
            frame(CONTINUATION, END_HEADERS, stream.id, DONE[cut:]),
            frame(RESET, 0, 99, bytes(4)),
            frame(GOAWAY, 0, 0, bytes(8)),
        ]
    )


def test_no_bytes_of_a_server_raise_anything_but_our_error(dice: random.Random) -> None:
    met = {"answered": 0, "malformed": 0}
    for _ in range(ROUNDS):
        talk = Conversation()
        stream, _ = talk.call(METHOD, b"ask")
        data = spoken(stream, dice)
        data = mutated(data, dice) if dice.random() < 0.9 else data
        try:
            while data:
                size = dice.choice([1, 9, 30, 1000])
                talk.feed(data[:size])
                data = data[size:]
            if stream.done:
                result(stream)
                met["answered"] += 1
        except RpcError:
            pass
        except Malformed:
            met["malformed"] += 1
    assert min(met.values()) > 50, met


@pytest.mark.parametrize(
    "said",
    [
        frame(DATA, 0, 1, b"\x00\x03\xff\xff\xff" + b"x" * 10_000),
        frame(DATA, 0, 1, b"\x00\x00\x00\x00\x01x" * 2_000),
        frame(HEADERS, 0, 1, b"\x00") + frame(CONTINUATION, 0, 1, b"x" * 10_000),
    ],
    ids=["data", "messages", "headers"],
)
def test_a_server_that_never_stops_is_left_before_it_fills_the_memory(
    said: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http2, "LARGEST_MESSAGE", 1 << 20)
    talk, taken = Conversation(), 0
    talk.call(METHOD, b"ask")
    more = said if said[3] == DATA else b""
    talk.feed(said)
    with pytest.raises(Malformed):
        while taken < 10 << 20:
            talk.feed(more or frame(CONTINUATION, 0, 1, b"x" * 10_000))
            taken += 10_000


def test_a_frame_larger_than_agreed_on_is_malformed_as_soon_as_it_is_announced() -> None:
    with pytest.raises(Malformed):
        Conversation().feed(frame(DATA, 0, 1, b"x" * 16_385)[:9])


@pytest.mark.parametrize("payload", [b"", b"\x01", b"\xff" * 5])
def test_more_padding_than_there_is_of_a_frame_is_malformed(payload: bytes) -> None:
    talk = Conversation()
    talk.call(METHOD, b"ask")
    with pytest.raises(Malformed):
        talk.feed(frame(DATA, PADDED, 1, payload))


def test_an_answer_in_many_frames_is_not_copied_with_each_of_them() -> None:
    stream = Stream(1, 1000)
    stream.receive(b"\x00" + (1_000_000).to_bytes(4))
    stream.receive(b"x" * 1000)
    kept = stream._inbox
    for _ in range(998):
        stream.receive(b"x" * 1000)
        assert stream.messages() == []
    assert stream._inbox is kept
    stream.receive(b"x" * 1000)
    assert [len(each) for each in stream.messages()] == [1_000_000]
