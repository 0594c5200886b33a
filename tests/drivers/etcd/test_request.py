"""What we ask of etcd is read by Google's library as it was meant."""

from typing import Any

from aetcd.rpc import rpc_pb2
from google.protobuf.message import Message
from hypothesis import strategies as st

from fencepost.drivers.etcd import request
from tests.support.course import tried

keys = st.binary(max_size=6) | st.sampled_from([bytes(127), bytes(128)])
counts = st.sampled_from([0, 1, 127, 128, 2**63 - 1]) | st.integers(0, 2**63 - 1)
flags = st.booleans()

Compare = rpc_pb2.Compare
conditions = st.one_of(
    st.builds(
        lambda key, number: (
            request.created_at(key, number),
            Compare(target=Compare.CREATE, key=key, create_revision=number),
        ),
        keys,
        counts,
    ),
    st.builds(
        lambda key, number: (
            request.modified_at(key, number),
            Compare(target=Compare.MOD, key=key, mod_revision=number),
        ),
        keys,
        counts,
    ),
    st.builds(
        lambda key, number: (request.has_lease(key, number), Compare(target=Compare.LEASE, key=key, lease=number)),
        keys,
        counts,
    ),
    *(
        st.builds(
            lambda key, value, ours=ours, result=result: (
                ours(key, value),
                Compare(result=result, target=Compare.VALUE, key=key, value=value),
            ),
            keys,
            keys,
        )
        for ours, result in (
            (request.has_value, Compare.EQUAL),
            (request.has_more, Compare.GREATER),
            (request.has_less, Compare.LESS),
        )
    ),
)
Range = rpc_pb2.RangeRequest
selections = st.builds(
    lambda key, end, by, only, limit, revision: (
        request.select(
            key,
            end,
            by_creation=by == "creation",
            latest=by == "latest",
            keys_only=only,
            limit=limit,
            revision=revision,
        ),
        Range(
            key=key,
            range_end=end,
            limit=limit,
            revision=revision,
            keys_only=only,
            sort_order={"latest": Range.DESCEND, "creation": Range.ASCEND}.get(by, Range.NONE),
            sort_target=Range.CREATE if by else Range.KEY,
        ),
    ),
    keys,
    keys,
    st.sampled_from(["", "creation", "latest"]),
    flags,
    counts,
    counts,
)
Op = rpc_pb2.RequestOp
steps = st.one_of(
    st.builds(
        lambda key, value, lease: (
            request.put(key, value, lease),
            Op(request_put=rpc_pb2.PutRequest(key=key, value=value, lease=lease)),
        ),
        keys,
        keys,
        counts,
    ),
    st.builds(
        lambda key, end: (
            request.delete(key, end),
            Op(request_delete_range=rpc_pb2.DeleteRangeRequest(key=key, range_end=end)),
        ),
        keys,
        keys,
    ),
    selections.map(lambda both: (request.read(both[0]), Op(request_range=both[1]))),
)


def transaction(*parts: list[tuple[bytes, Any]]) -> tuple[bytes, Any]:
    ours, theirs = ([[each[side] for each in part] for part in parts] for side in (0, 1))
    return request.transaction(*ours), rpc_pb2.TxnRequest(
        **dict(zip(("compare", "success", "failure"), theirs, strict=True))
    )


def transactions(steps: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    some = st.lists(steps, max_size=3)
    return st.builds(transaction, st.lists(conditions, max_size=3), some, some)


nested = transactions(steps).map(lambda both: (request.nested(both[0]), Op(request_txn=both[1])))
Watch, Create = rpc_pb2.WatchRequest, rpc_pb2.WatchCreateRequest
words = st.text("aж€", max_size=5)
asked = st.one_of(
    selections,
    transactions(steps | nested),
    st.builds(
        lambda lease, seconds: (
            request.lease_grant(lease, seconds),
            rpc_pb2.LeaseGrantRequest(TTL=seconds, ID=lease),
        ),
        counts,
        counts,
    ),
    counts.map(lambda lease: (request.lease_id(lease), rpc_pb2.LeaseKeepAliveRequest(ID=lease))),
    counts.map(lambda lease: (request.lease_id(lease), rpc_pb2.LeaseRevokeRequest(ID=lease))),
    st.builds(
        lambda lease, keys: (
            request.lease_time_to_live(lease, keys=keys),
            rpc_pb2.LeaseTimeToLiveRequest(ID=lease, keys=keys),
        ),
        counts,
        flags,
    ),
    st.builds(
        lambda number, key: (
            request.watch(number, key),
            Watch(create_request=Create(key=key, watch_id=number)),
        ),
        counts,
        keys,
    ),
    st.builds(
        lambda number, key, end, writes: (
            request.watch_range(number, key, end, writes=writes),
            Watch(
                create_request=Create(key=key, range_end=end, watch_id=number, filters=[] if writes else [Create.NOPUT])
            ),
        ),
        counts,
        keys,
        keys,
        flags,
    ),
    counts.map(
        lambda number: (
            request.unwatch(number),
            Watch(cancel_request=rpc_pb2.WatchCancelRequest(watch_id=number)),
        )
    ),
    st.builds(
        lambda name, password: (
            request.authenticate(name, password),
            rpc_pb2.AuthenticateRequest(name=name, password=password),
        ),
        words,
        words,
    ),
)


@tried(60, 1500, asked=asked)
def test_google_reads_what_we_ask_as_it_was_meant(asked: tuple[bytes, Message]) -> None:
    ours, theirs = asked
    assert type(theirs).FromString(ours) == theirs
