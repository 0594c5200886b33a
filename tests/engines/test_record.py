"""Records in shared stores: what we put together by hand is JSON, and what strangers write is a record or none."""

import json
from base64 import b64decode, b64encode
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import strategies as st
from psycopg.adapt import Transformer
from psycopg.pq import Format

from fencepost.core.claim import Ask, Mode, Request
from fencepost.core.holder import Holder
from fencepost.core.malformed import Malformed
from fencepost.core.priority import HIGHEST, LOWEST
from fencepost.drivers.etcd.answer import KeyValue
from fencepost.engines.consul import audit, record, shortcut
from fencepost.engines.consul.lease import Lease
from fencepost.engines.consul.transaction import (
    LOCK_FLAG,
    Pair,
    absent,
    at_index,
    conflict_of,
    delete,
    listed,
    lock,
    pairs_of,
    tree,
)
from fencepost.engines.etcd import record as etcd
from fencepost.engines.postgresql import query
from fencepost.engines.postgresql import record as postgresql
from fencepost.engines.sqlite import mailbox
from fencepost.engines.zookeeper import record as zookeeper
from fencepost.engines.zookeeper.contender import Contender
from fencepost.errors import EngineError, Refused
from fencepost.fences.file import mark as file
from fencepost.fences.s3 import pointer as s3
from tests.support.course import harmed, tried

texts = st.text('aж€"\\\n\0:,{}', max_size=8)
names = texts.filter(lambda text: bool(text) and "\0" not in text)
counts = st.integers(1, 2**63 - 1)
ask = st.builds(Ask, names, st.sampled_from(Mode), counts, counts, texts)
asks = st.lists(ask, min_size=1, max_size=3, unique_by=lambda ask: ask.name).map(tuple)
holders = st.builds(Holder, st.text("0123456789abcdef", min_size=1, max_size=16), texts)
requests = st.builds(Request, holders, st.integers(0, 10**10 - 1), asks, st.integers(LOWEST, HIGHEST))
records = st.builds(
    record.Record, requests, st.floats(0.1, 1e6), st.integers(0, 10**9).map(float), st.booleans(), st.integers(0, 2**62)
)


@tried(40, 1000, request=requests)
def test_a_contender_of_etcd_is_json_and_comes_back(request: Request) -> None:
    ask = request.asks[0]
    value = etcd.value_of(request, ask, etcd.serial_text(request.serial))
    about = json.loads(value)
    assert (about["holder"], about["label"], int(about["serial"])) == (*request.holder, request.serial)
    found = etcd.contender_of(KeyValue(b"k", 5, 5, value, 7), ask.name)
    assert (found.holder, found.serial) == (request.holder, request.serial)
    assert found.ask == (ask if ask.mode is Mode.COUNTED else ask._replace(weight=1, limit=1))
    assert found.names == tuple(each.name for each in request.asks)


@tried(40, 1000, made=records)
def test_a_record_of_consul_is_json_and_comes_back(made: record.Record) -> None:
    value = record.write(made)
    about = json.loads(b64decode(value, validate=True))
    assert (about["holder"], about["label"]) == tuple(made.request.holder)
    assert record.read(value) == made


@tried(30, 800, request=requests, name=names, token=counts)
def test_the_short_way_of_consul_asks_for_the_same_as_the_long_one(request: Request, name: str, token: int) -> None:
    lease = Lease(request.holder, 5.0, "prefix/")
    lease.session = "session"
    said = json.loads(shortcut.claim(lease, request, name, 1.0))
    value = record.write(lease.record(request, 1.0))
    assert said == [at_index(lease.key, 0), absent(name), lock(name, value, "session", LOCK_FLAG), tree(name)]
    assert json.loads(shortcut.release(name, token)) == [at_index(name, token), delete(name)]


pairs = st.builds(
    lambda key, value, index: {
        "KV": {
            "Key": key,
            "Value": b64encode(value.encode()).decode(),
            "Flags": LOCK_FLAG,
            "CreateIndex": 1,
            "ModifyIndex": index,
        }
    },
    names,
    texts,
    counts,
)


THREE = st.lists(pairs, min_size=3, max_size=3, unique_by=lambda pair: pair["KV"]["Key"])


@tried(40, 1000, found=THREE, indent=st.none() | st.integers(0, 2))
def test_the_short_way_of_consul_finds_the_token_that_json_has(found: list[Any], indent: int | None) -> None:
    body = json.dumps({"Results": found, "Errors": None}, indent=indent).encode()
    assert shortcut.token_of(body.replace(b'"KV": {', b'"KV":{')) in (found[-1]["KV"]["ModifyIndex"], None)
    assert shortcut.token_of(json.dumps({"Results": found}).encode()) == found[-1]["KV"]["ModifyIndex"]
    operations = [tree("")]
    assert list(pairs_of(operations, body).values())[-1].modified == found[-1]["KV"]["ModifyIndex"]


@tried(50, 1000, words=st.lists(st.text("aж \"\\{},\n\t\0\ud800'", max_size=8), max_size=4))
def test_psycopg_reads_our_arrays_as_they_were_meant(words: list[str]) -> None:
    load = Transformer().get_loader(1009, Format.TEXT).load
    # What PostgreSQL can not store is replaced.
    meant = [word.replace("\0", "\ufffd").replace("\ud800", "?") for word in words]
    assert load(query.array(words)) == meant


# What strangers write

DEEP = [b"[" * 5000, b'{"a":' * 5000]
JUNK = [b"null", b"[]", b"{}", b"1e999", b"NaN", b"-1", b'"\\ud800"', b"9" * 5000, b"true", *DEEP]
asked = Ask("n", Mode.COUNTED, 1, 2, "note")
contender = Contender("ab-1-x-__lock__0000000001", "n", 1)


def in_base64(read: Callable[[str], object]) -> Callable[[bytes], object]:
    return lambda data: read(b64encode(data).decode())


def json_of(**about: object) -> bytes:
    return json.dumps(about).encode()


KEY = json_of(Key="n", Value="eA==", Flags=0, CreateIndex=1, ModifyIndex=5, Session="s")
READERS: dict[str, tuple[Callable[[bytes], object], bytes, tuple[type[Exception], ...]]] = {
    "a contender of etcd": (
        lambda data: etcd.contender_of(KeyValue(b"k", 5, 5, data, 7), "n"),
        etcd.value_of(Request(Holder("ab", "l"), 1, (asked,)), asked, b"1"),
        (),
    ),
    "an eviction of etcd": (etcd.eviction_of, etcd.eviction_value("a", "b"), ()),
    "a record of consul": (
        in_base64(record.read),
        b64decode(record.write(record.Record(Request(Holder("ab", "l"), 1, (Ask("n"),)), 5.0, 1.0))),
        (),
    ),
    "an audit of consul": (
        in_base64(lambda value: audit.evictions_of("n", audit.read_audit(Pair("", value, "", 0, 1, 1)), 1.0)),
        b'[["n",5,"label","by",1.5]]',
        (),
    ),
    "keys of consul": (listed, b"[%b]" % KEY, (EngineError,)),
    "an answer of consul": (
        lambda data: pairs_of([at_index("n", 5), tree("n")], data),
        b'{"Results":[{"KV":%b},{"KV":%b}]}' % (KEY, KEY),
        (EngineError,),
    ),
    "a conflict of consul": (conflict_of, b'{"Errors":[{"OpIndex":0,"What":"x"}]}', (EngineError,)),
    "a card of zookeeper": (
        lambda data: zookeeper.claim_of(contender, data, 1),
        zookeeper.Card("label", 5.0, "note", True).pack(),
        (),
    ),
    "an eviction of zookeeper": (zookeeper.eviction_of, json_of(name="n", token=5, holder="h", by="b"), ()),
    "claims of postgresql": (
        postgresql.claims_of,
        b'[["ab","label",1,"n","exclusive",1,1,"note",5]]',
        (EngineError,),
    ),
    "a sight of postgresql": (
        lambda data: postgresql.snapshot_of("n", data),
        b'{"standing":[[["ab","l",1,"n","shared",1,1,"",5],1.5,2.5,0]],"evictions":[[5,"a","b",1.5]]}',
        (EngineError,),
    ),
    "tokens of postgresql": (query.wholes, b"1,25,3", (EngineError,)),
    "a number of postgresql": (query.whole, b"25", (EngineError,)),
    "a letter of sqlite": (mailbox.read, b"ab 1 5,6", ()),
    "marks in a file": (file.decode, file.encode({"n": 5}), (ValueError,)),
    "a pointer in a bucket": (
        lambda data: s3.decode("k", data),
        s3.Pointer(5, "ab", s3.content_key("k", 5, "0123456789abcdef")).encode(),
        (Refused,),
    ),
}


@pytest.mark.parametrize("title", READERS)
@pytest.mark.unit
def test_a_record_is_read_and_what_is_nested_too_deeply_is_none(title: str) -> None:
    read, whole, promised = READERS[title]
    repr(read(whole))
    for deep in (b"[" * 100_000, b'{"a":' * 100_000, whole.replace(b"5", b'{"a":' * 100_000)):
        with suppress(*promised):
            repr(read(deep))


harmed_records = st.one_of(
    *(st.tuples(st.just(title), harmed(st.just(whole), *JUNK)) for title, (_, whole, _) in READERS.items())
)


@tried(150, 3000, harmed=harmed_records)
def test_a_harmed_record_is_read_or_none_or_what_the_reader_promises(harmed: tuple[str, bytes]) -> None:
    title, data = harmed
    read, _, promised = READERS[title]
    with suppress(*promised):
        repr(read(data))


@pytest.mark.unit
@pytest.mark.parametrize("value", [b'"5"', b"5.0", b"true", b"null", b"-5", b"[5]", b"1e3", b"%d" % 2**63])
def test_a_mark_in_a_file_that_is_no_token_is_damage_whatever_its_checksum(value: bytes) -> None:
    with pytest.raises(ValueError):
        file.decode(file.encode({"n": json.loads(value)}))


@pytest.mark.unit
def test_a_claim_that_was_answered_without_an_index_has_no_token() -> None:
    with pytest.raises(Malformed):
        shortcut.token_of(b'{"Results":[ 12345}' + b'"KV":' * shortcut.ALONE)
