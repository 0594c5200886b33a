"""What etcd answers is read as Google's library reads it, and what is no answer is malformed."""

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from aetcd.rpc import kv_pb2, rpc_pb2
from google.protobuf.empty_pb2 import Empty
from google.protobuf.message import DecodeError, Message
from google.protobuf.unknown_fields import UnknownFieldSet
from hypothesis import strategies as st

from fencepost.core.malformed import Malformed
from fencepost.drivers.etcd import answer
from tests.support.course import harmed, tried

texts = st.binary(max_size=6) | st.sampled_from([bytes(127), bytes(128)])
words = st.text("aж€~", max_size=5)
numbers = st.sampled_from([0, 1, 127, 128, -1, -(2**63), 2**63 - 1]) | st.integers(-(2**63), 2**63 - 1)
ids = st.sampled_from([0, 1, 2**63, 2**64 - 1]) | st.integers(0, 2**64 - 1)
flags = st.booleans()
headers = st.builds(rpc_pb2.ResponseHeader, cluster_id=ids, member_id=ids, revision=numbers, raft_term=ids)
pairs = st.builds(
    kv_pb2.KeyValue,
    key=texts,
    create_revision=numbers,
    mod_revision=numbers,
    version=numbers,
    value=texts,
    lease=numbers,
)
ranges = st.builds(rpc_pb2.RangeResponse, header=headers, kvs=st.lists(pairs, max_size=2), more=flags, count=numbers)
puts = st.builds(rpc_pb2.PutResponse, header=headers)
deletions = st.builds(rpc_pb2.DeleteRangeResponse, header=headers, deleted=numbers)
Op = rpc_pb2.ResponseOp
parts = st.one_of(
    st.builds(Op, response_range=ranges),
    st.builds(Op, response_put=puts),
    st.builds(Op, response_delete_range=deletions),
)


def transactions(parts: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.builds(rpc_pb2.TxnResponse, header=headers, succeeded=flags, responses=st.lists(parts, max_size=3))


events = st.builds(kv_pb2.Event, type=st.sampled_from([0, 1]), kv=pairs)


def header(theirs: Any) -> int:
    return int(theirs.header.revision)


def pair(theirs: Any) -> answer.KeyValue:
    return answer.KeyValue(theirs.key, theirs.create_revision, theirs.mod_revision, theirs.value, theirs.lease)


def found(theirs: Any) -> answer.Found:
    return answer.Found(header(theirs), [pair(each) for each in theirs.kvs], theirs.more)


def part(theirs: Any) -> Any:
    match theirs.WhichOneof("response"):
        case "response_range":
            return found(theirs.response_range)
        case "response_txn":
            return outcome(theirs.response_txn)
        case "response_delete_range":
            return theirs.response_delete_range.deleted
        case "response_put":
            return 0
    return None


def outcome(theirs: Any) -> Any:
    return header(theirs), theirs.succeeded, [part(each) for each in theirs.responses]


def our_outcome(data: bytes) -> Any:
    return plain(answer.outcome(data))


def plain(part: Any) -> Any:
    if isinstance(part, answer.Outcome):
        return part.revision, part.succeeded, [plain(each) for each in part.parts]
    return part


def lease(theirs: Any) -> answer.Lease:
    return answer.Lease(theirs.TTL, theirs.grantedTTL, list(theirs.keys))


def change(theirs: Any) -> answer.Change:
    kept = None if theirs.type else pair(theirs.kv)
    return answer.Change(theirs.kv.mod_revision, theirs.kv.key, kept)


def news(theirs: Any) -> Any:
    reason = theirs.cancel_reason or "cancelled"
    if theirs.compact_revision:
        reason = f"revision {theirs.compact_revision} is the first that is left"
    ended = reason if theirs.canceled or theirs.compact_revision else None
    revision = header(theirs) if theirs.created else 0
    return theirs.watch_id, revision, theirs.created, ended, [change(each) for each in theirs.events]


def our_news(data: bytes) -> Any:
    told = answer.news(data)
    return (*told[:4], [answer.change(each) for each in told.events])


def signed(number: int) -> int:
    """Ids of members are compared, and nothing else: we read them as any other number."""
    return number - 2**64 if number >> 63 else number


def status(theirs: Any) -> answer.Status:
    return answer.Status(signed(theirs.header.member_id), signed(theirs.leader), theirs.version)


class Kind(NamedTuple):
    ours: Callable[[bytes], Any]
    theirs: Callable[[Any], Any]
    messages: st.SearchStrategy[Any]


inner = transactions(parts)
KINDS = {
    rpc_pb2.RangeResponse: Kind(answer.found, found, ranges),
    rpc_pb2.TxnResponse: Kind(our_outcome, outcome, transactions(parts | st.builds(Op, response_txn=inner))),
    rpc_pb2.LeaseTimeToLiveResponse: Kind(
        answer.lease,
        lease,
        st.builds(
            rpc_pb2.LeaseTimeToLiveResponse, header=headers, TTL=numbers, grantedTTL=numbers, keys=st.lists(texts)
        ),
    ),
    kv_pb2.Event: Kind(answer.change, change, events),
    rpc_pb2.WatchResponse: Kind(
        our_news,
        news,
        st.builds(
            rpc_pb2.WatchResponse,
            header=headers,
            watch_id=numbers,
            created=flags,
            canceled=flags,
            compact_revision=numbers,
            cancel_reason=words,
            events=st.lists(events, max_size=2),
        ),
    ),
    rpc_pb2.AuthenticateResponse: Kind(
        answer.token,
        lambda theirs: theirs.token,
        st.builds(rpc_pb2.AuthenticateResponse, header=headers, token=st.text("aZ.~", max_size=9)),
    ),
    rpc_pb2.StatusResponse: Kind(
        answer.status, status, st.builds(rpc_pb2.StatusResponse, header=headers, version=words, leader=ids)
    ),
}
whole = st.one_of(*(kind.messages for kind in KINDS.values()))


@tried(80, 1500, theirs=whole)
def test_an_answer_is_read_as_google_meant_it(theirs: Message) -> None:
    kind = KINDS[type(theirs)]
    assert kind.ours(theirs.SerializeToString()) == kind.theirs(theirs)


BYTES = 2
JUNK = [b"\xff" * 9, b"\x80" * 12, b"\x7f", b"\x0a\x00", b"\x10\x05", b"\x18\x06", b"\x00\x00"]
harmed_answers = st.one_of(
    *(
        st.tuples(st.just(kind), harmed(about.messages.map(lambda theirs: theirs.SerializeToString()), *JUNK))
        for kind, about in KINDS.items()
    )
)


def repeats(data: bytes) -> bool:
    """Whether a message stands twice in one, or in any that is in that."""
    try:
        found = [each for each in UnknownFieldSet(Empty.FromString(data)) if each.wire_type == BYTES]
    except DecodeError:
        return False
    return len({each.field_number for each in found}) < len(found) or any(repeats(each.data) for each in found)


@tried(80, 1500, harmed=harmed_answers)
def test_a_harmed_answer_is_read_as_google_reads_it_or_malformed(harmed: tuple[Any, bytes]) -> None:
    kind, data = harmed
    about = KINDS[kind]
    try:
        ours = about.ours(data)
    except Malformed:
        # Stricter: a field of another kind than ours may be unknown to Google, and is none to us.
        return
    try:
        theirs = about.theirs(kind.FromString(data))
    except DecodeError:
        # Laxer: what nobody looks at, such as most headers, is not taken apart.
        return
    # Of a message that comes twice Google makes one, and we take the last.
    assert ours == theirs or repeats(data)


@pytest.mark.unit
@pytest.mark.parametrize(
    "header",
    [
        b"\x18\x05\x08\x01\x10\x02",
        b"\x10\x02\x08\x01\x18\x05",
        b"\x20\x07\x18\x05",
        b"\x18\x04\x18\x05",
        b"\x18" + b"\xff" * 9 + b"\x01",
        b"\x2a\x01x\x18\x05",
    ],
    ids=["first", "in the middle", "last", "twice", "below nothing", "behind another"],
)
def test_a_revision_is_found_wherever_it_stands_in_a_header(header: bytes) -> None:
    theirs = rpc_pb2.RangeResponse(header=rpc_pb2.ResponseHeader.FromString(header))
    data = b"\x0a" + bytes([len(header)]) + header
    assert answer.found(data).revision == theirs.header.revision
    assert theirs.header.revision in (5, -1)


@pytest.mark.unit
@pytest.mark.parametrize("data", [b"\x00\x00", b"\x02\x01x", b"\x98" + b"\x80" * 4 + b"\x10\x05"])
def test_a_field_of_no_number_or_one_that_is_too_large_is_malformed(data: bytes) -> None:
    with pytest.raises(DecodeError):
        rpc_pb2.RangeResponse.FromString(data)
    with pytest.raises(Malformed):
        answer.found(data)
