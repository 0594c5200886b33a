"""Beside kazoo's serializer: connections as a whole, and what test_jute.py has not of the messages."""

import struct
from typing import Any

import pytest
from hypothesis import strategies as st
from kazoo.exceptions import KazooException
from kazoo.protocol import serialization as theirs
from kazoo.protocol.connection import ReplyHeader
from kazoo.security import ACL, Id

from fencepost.engines.zookeeper import jute
from fencepost.engines.zookeeper.frame import Intake
from tests.support.course import cut, harmed, sizes, tried

paths = st.text("aж/-", max_size=6).map(lambda text: f"/{text}")
# Nothing is -1 long for kazoo where it is text.
texts = st.text("aж:", min_size=1, max_size=6)
data = st.binary(max_size=20)
ints = st.sampled_from([0, -1, -(2**31), 2**31 - 1]) | st.integers(-(2**31), 2**31 - 1)
longs = st.sampled_from([0, -1, 2**62]) | st.integers(-(2**63), 2**63 - 1)
access = st.lists(st.tuples(st.integers(0, 31), texts, texts), max_size=3)


def spoken(request: Any) -> bytes:
    return struct.pack(">i", request.type) + bytes(request.serialize())


@tried(60, 1500, path=paths, said=data, access=access, flags=st.integers(0, 4), number=ints, text=texts)
def test_kazoo_says_the_same(
    path: str, said: bytes, access: list[tuple[int, str, str]], flags: int, number: int, text: str
) -> None:
    node, allowed = path.encode(), [ACL(each, Id(*who)) for each, *who in access]
    made = jute.create(jute.CREATE, node, said, jute.acl(access), flags)
    assert made == spoken(theirs.Create(path, said, allowed, flags))
    # Of a container kazoo knows nothing but that it is made as any other node.
    container = jute.create(jute.CREATE_CONTAINER, node, said, jute.acl(access), flags)
    assert container[4:] == spoken(theirs.Create2(path, said, allowed, flags))[4:]
    together = theirs.Transaction([theirs.Create2(path, said, allowed, flags), theirs.CheckVersion(path, number)])
    steps = [jute.create(jute.CREATE2, node, said, jute.acl(access), flags), jute.check(node, number)]
    assert jute.multi(steps) == spoken(together)
    assert jute.auth(text, path.encode()) == spoken(theirs.Auth(0, text, path))
    assert jute.sasl(said) == spoken(theirs.SASL(said))
    assert struct.pack(">i", theirs.Close.type) == jute.CLOSING
    assert jute.frame(number, steps[1]) == struct.pack(">ii", len(steps[1]) + 4, number) + steps[1]


# Why a transaction did nothing

STAT = bytes(68)
HEADER = struct.Struct(">i?i")
done = st.lists(
    st.sampled_from(
        [
            HEADER.pack(theirs.Create.type, False, 0) + jute.buffer(b"/a"),
            HEADER.pack(theirs.Delete.type, False, 0),
            HEADER.pack(theirs.SetData.type, False, 0) + STAT,
            HEADER.pack(theirs.CheckVersion.type, False, 0),
        ]
    ),
    max_size=3,
)
codes = st.sampled_from([0, -2, -101, -103, -110])
failed = st.lists(
    codes.map(lambda code: HEADER.pack(-1, False, code) + struct.pack(">i", code)), min_size=1, max_size=4
)
answers = (done | failed).map(lambda parts: b"".join(parts) + HEADER.pack(-1, True, -1))


def failure(body: bytes) -> int | None:
    """The code of the first step that was not only undone; None if kazoo can not read it, or does not know it."""
    try:
        found = theirs.Transaction.deserialize(body, 0)
    except (struct.error, RuntimeError, UnicodeDecodeError):
        return None
    return next((each.code for each in found if isinstance(each, KazooException) and each.code), 0)


# Once taken for success: kinds that there are not, steps that are cut off, and none at all.
KNOWN = [b"\0\xff\5" + bytes(6), HEADER.pack(theirs.SetData.type, False, 0), HEADER.pack(-1, True, -1)]


@pytest.mark.unit
@pytest.mark.parametrize("body", KNOWN)
def test_an_answer_that_does_not_tell_of_all_steps_is_malformed(body: bytes) -> None:
    with pytest.raises(jute.Malformed):
        jute.failure(body)


@tried(50, 800, body=answers)
def test_why_a_transaction_did_nothing_is_told(body: bytes) -> None:
    if body[9:]:
        assert jute.failure(body) == failure(body)


@tried(80, 1500, body=harmed(answers, b"\xff\xff\xff\xff", b"\0\0\0\0"))
def test_why_a_transaction_did_nothing_is_read_as_kazoo_reads_it_or_malformed(body: bytes) -> None:
    expected = failure(body)
    try:
        found = jute.failure(body)
    except jute.Malformed:
        # Stricter: it takes steps of kinds that there are not for steps, and no step at all for success.
        return
    assert found == expected or expected is None


# A connection

replies = st.tuples(st.just("reply"), longs, ints, data)
events = st.tuples(st.just("event"), st.sampled_from([1, 2, 3, 4]), paths, st.just(b""))


class Kept(list[jute.Reply]):
    def add(self, reply: jute.Reply) -> None:
        self.append(reply)


def read_by_kazoo(said: bytes) -> tuple[list[tuple[int, bytes]], list[tuple[bytes, bool]], int]:
    """Replies, events and the last transaction, as its connection handler takes frames apart."""
    at, found, heard, last = 0, [], [], 0
    while at < len(said):
        (length,) = struct.unpack_from(">i", said, at)
        frame, at = said[at + 4 : at + 4 + length], at + 4 + length
        header, offset = ReplyHeader.deserialize(frame, 0)
        if header.xid == -1:
            watch, _ = theirs.Watch.deserialize(frame, offset)
            heard.append((watch.path.encode(), watch.type == 2))
        else:
            found.append((header.err, frame[offset:]))
            last = max(last, header.zxid)
    return found, heard, last


@tried(60, 1500, said=st.lists(replies | events, max_size=6), pieces=sizes)
def test_what_a_server_says_is_sorted_as_kazoo_sorts_it(said: list[Any], pieces: list[int]) -> None:
    kept, heard, spoken = Kept(), [], b""
    intake = Intake(lambda path, gone: heard.append((path, gone)))
    for what, first, second, body in said:
        if what == "event":
            frame = struct.pack(">iqiii", -1, -1, 0, first, 3) + jute.buffer(second.encode())
        else:
            number = len(intake.pending) + 1
            intake.pending.append((number, kept))
            frame = struct.pack(">iqi", number, first, second) + body
        spoken += jute.buffer(frame)
    for piece in cut(spoken, pieces):
        intake.feed(piece)
    assert ([*map(tuple, kept)], heard, intake.last_zxid) == read_by_kazoo(spoken)
    assert not intake.pending
