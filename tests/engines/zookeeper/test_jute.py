"""What comes from a server is not trusted: whatever is no answer is told as such, and quickly."""

import math
import struct
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kazoo.protocol import serialization as theirs
from kazoo.security import ACL, Id

from fencepost import Unavailable
from fencepost.engines.zookeeper import frame, jute
from fencepost.engines.zookeeper.contender import Recipe
from fencepost.engines.zookeeper.frame import Intake
from fencepost.engines.zookeeper.record import card_of, claim_of, eviction_of

pytestmark = pytest.mark.unit

DECODERS: list[Callable[[bytes], object]] = [
    jute.header,
    jute.connected,
    jute.created,
    jute.node,
    jute.stat,
    jute.strings,
    jute.failure,
    jute.event,
    jute.token,
]


@pytest.mark.parametrize("length", [-1, -4, -5, -(2**31), 2**31 - 1])
def test_a_list_with_a_length_that_can_not_be_is_malformed(length: int) -> None:
    with pytest.raises(jute.Malformed):
        jute.strings(struct.pack(">ii", 2**31 - 1, length))


@pytest.mark.parametrize("decode", DECODERS, ids=lambda decode: decode.__name__)
@given(
    body=st.binary(max_size=120) | st.lists(st.integers(-8, 8)).map(lambda them: struct.pack(f">{len(them)}i", *them))
)
def test_bad_bytes_are_malformed_and_nothing_else(decode: Callable[[bytes], object], body: bytes) -> None:
    with suppress(jute.Malformed):
        decode(body)


def test_what_is_malformed_is_unavailable_to_whoever_asked_and_ends_the_connection_of_whoever_reads() -> None:
    assert issubclass(jute.Malformed, Unavailable)
    assert issubclass(jute.Malformed, ValueError)


@given(st.lists(st.integers(-2, 40)).map(lambda them: struct.pack(f">{len(them)}i", *them)))
def test_whatever_comes_in_is_taken_or_malformed(data: bytes) -> None:
    intake = Intake(lambda path, gone: None)
    with suppress(ValueError):
        intake.feed(data)


# As kazoo has it

paths = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=8).map(
    lambda text: f"/{text}"
)
data = st.binary(max_size=20)
versions = st.integers(-(2**31), 2**31 - 1)
flags = st.booleans()
EVERYBODY = [ACL(31, Id("world", "anyone"))]


def spoken(request: Any) -> bytes:
    return struct.pack(">i", request.type) + bytes(request.serialize())


@given(path=paths, data=data, version=versions, watch=flags)
def test_requests_are_those_of_kazoo(path: str, data: bytes, version: int, watch: bool) -> None:
    node = path.encode()
    made = jute.create(jute.CREATE2, node, data, jute.OPEN_TO_ALL, 3)
    changed = jute.set_data(node, data, version)
    assert made == spoken(theirs.Create2(path, data, EVERYBODY, 3))
    assert changed == spoken(theirs.SetData(path, data, version))
    assert jute.delete(node) == spoken(theirs.Delete(path, -1))
    assert jute.check(node, version) == spoken(theirs.CheckVersion(path, version))
    for kind, request in ((4, theirs.GetData), (3, theirs.Exists), (8, theirs.GetChildren)):
        assert jute.read(kind, node, watch=watch) == spoken(request(path, watch))
    together = theirs.Transaction([theirs.SetData(path, data, version), theirs.Delete(path, -1)])
    assert jute.multi([changed, jute.delete(node)]) == spoken(together)
    assert (
        jute.connect(jute.Session(5, version, data), 7, 9) == theirs.Connect(0, 7, 9, version, data, False).serialize()
    )


stats = st.binary(min_size=68, max_size=68)
strings = st.lists(paths, max_size=4).map(
    lambda them: struct.pack(">i", len(them)) + b"".join(jute.buffer(each.encode()) for each in them)
)
named = st.builds(lambda path, stat: jute.buffer(path.encode()) + stat, paths, stats)
filled = st.builds(lambda data, stat: jute.buffer(data) + stat, data, stats)
events = st.builds(
    lambda kind, path: struct.pack(">ii", kind, 3) + jute.buffer(path.encode()), st.integers(-1, 4), paths
)
greetings = st.builds(
    lambda timeout, number, secret: struct.pack(">iiq", 0, timeout, number) + jute.buffer(secret) + b"\0",
    versions,
    versions,
    data,
)


@st.composite
def harmed(draw: st.DrawFn, whole: st.SearchStrategy[bytes]) -> bytes:
    """A body of which some bytes are others, are missing, or are too many."""
    body = bytearray(draw(whole))
    for _ in range(draw(st.integers(0, 2))):
        at = draw(st.integers(0, len(body)))
        body[at : draw(st.integers(at, min(len(body), at + 5)))] = draw(st.binary(max_size=4))
    return bytes(body)


def _stat(theirs: Any) -> jute.Stat:
    return jute.Stat(theirs.czxid, theirs.ctime, theirs.version, theirs.mzxid)


READERS: list[tuple[Callable[[bytes], object], st.SearchStrategy[bytes], Callable[[bytes], object]]] = [
    (jute.strings, strings, lambda body: [each.encode() for each in theirs.GetChildren.deserialize(body, 0)]),
    (
        jute.created,
        named,
        lambda body: (lambda path, stat: (path.encode(), _stat(stat)))(*theirs.Create2.deserialize(body, 0)),
    ),
    (
        jute.node,
        filled,
        lambda body: (lambda said, stat: (said or b"", _stat(stat)))(*theirs.GetData.deserialize(body, 0)),
    ),
    (jute.stat, stats, lambda body: _stat(theirs.Exists.deserialize(body, 0))),
    (
        jute.event,
        events,
        lambda body: (lambda event: (event.path.encode(), event.type == 2))(theirs.Watch.deserialize(body, 0)[0]),
    ),
    (
        jute.connected,
        greetings,
        lambda body: (lambda told: jute.Session(max(0, told.time_out), told.session_id, told.passwd or b""))(
            theirs.Connect.deserialize(body, 0)[0]
        ),
    ),
]


@pytest.mark.parametrize(("ours", "whole", "kazoos"), READERS, ids=lambda each: getattr(each, "__name__", ""))
@given(choice=st.data())
def test_replies_are_read_as_kazoo_reads_them_or_malformed(
    ours: Callable[[bytes], object],
    whole: st.SearchStrategy[bytes],
    kazoos: Callable[[bytes], object],
    choice: st.DataObject,
) -> None:
    body = choice.draw(whole)
    assert ours(body) == kazoos(body)
    body = choice.draw(harmed(whole))
    try:
        found = ours(body)
    except jute.Malformed:
        return
    # It reads past the end without a word, and takes for text what is none.
    with suppress(struct.error, UnicodeDecodeError, AttributeError):
        assert found == kazoos(body)


@given(bodies=st.lists(st.binary(max_size=40), max_size=6), size=st.integers(1, 50))
def test_frames_are_cut_alike_whatever_the_pieces(bodies: list[bytes], size: int) -> None:
    class Kept(list[jute.Reply]):
        def add(self, reply: jute.Reply) -> None:
            self.append(reply)

    kept = Kept()
    intake = Intake(lambda path, gone: None)
    intake.pending.extend((number, kept) for number in range(len(bodies)))
    said = b"".join(jute.frame(number, bytes(12) + body) for number, body in enumerate(bodies))
    for at in range(0, len(said), size):
        intake.feed(said[at : at + size])
    assert [reply.body for reply in kept] == bodies


def test_a_long_frame_in_many_pieces_is_cut_once(monkeypatch: pytest.MonkeyPatch) -> None:
    heads: list[int] = []
    monkeypatch.setattr(frame, "_length", Counting(heads))
    intake = Intake(lambda path, gone: None)
    greeted: list[bytes] = []
    intake.on_greeting = greeted.append
    body = bytes(4_000_000)
    said = jute.buffer(body)
    for at in range(0, len(said), 1000):
        intake.feed(said[at : at + 1000])
    assert greeted == [body]
    assert len(heads) <= 3


class Counting:
    def __init__(self, heads: list[int]) -> None:
        self._heads = heads

    def unpack_from(self, data: bytes, at: int) -> tuple[int]:
        self._heads.append(at)
        found: tuple[int] = struct.unpack_from(">i", data, at)
        return found


@pytest.mark.parametrize("length", [-1, frame.LONGEST + 1, 2**31 - 1])
def test_a_frame_that_is_too_long_is_malformed_before_it_has_come(length: int) -> None:
    with pytest.raises(jute.Malformed):
        Intake(lambda path, gone: None).feed(struct.pack(">i", length))


# What stands in nodes

names = st.text(max_size=12) | st.sampled_from(["ab-1-x-__lock__", f"ab-{'9' * 5000}-x-__lock__", "ab-1-c1.2-__lock__"])
numbers = st.sampled_from(["0000000001", "٣٣٣٣٣٣٣٣٣٣", "", "-000000001", "²²²²²²²²²²"])
cards = st.sampled_from(
    [b"", b"[" * 50_000, b"\xff", b"5", b"{}", b'{"holder":1,"ttl":1e999,"note":2}', b'{"holder":1,"ttl":[],"note":2}']
) | st.binary(max_size=10)


@given(node=st.builds(lambda name, number: name + number, names, numbers), said=cards)
def test_whatever_strangers_made_is_something(node: str, said: bytes) -> None:
    with suppress(UnicodeEncodeError):
        for contender in Recipe("kazoo").line([node.encode()], "n"):
            claim = claim_of(contender, said, 1)
            assert math.isfinite(card_of(contender, said).ttl)
            repr((claim, contender.owner, contender.ask))
    assert eviction_of(said) is None


def test_a_child_that_is_no_text_is_malformed() -> None:
    with pytest.raises(jute.Malformed):
        Recipe("kazoo").line([b"\xff__lock__0000000001"], "n")
