"""Records under the keys of etcd that somebody else has written."""

import sys

import pytest

from fencepost.core.remembered import SMALL
from fencepost.drivers.etcd.answer import KeyValue
from fencepost.engines.etcd.key import Place, name_of
from fencepost.engines.etcd.record import UNREADABLE, contender_of, eviction_of
from fencepost.testing.contract.hostile import VALUES, mutations

pytestmark = pytest.mark.unit

RECORD = {
    "serial": '"0000000001"',
    "holder": '"h"',
    "label": '"l"',
    "mode": '"counted"',
    "weight": "1",
    "limit": "2",
    "note": '"n"',
    "names": '["a","b"]',
}


def test_a_record_of_ours_is_read() -> None:
    found = contender_of(KeyValue(b"a/7", 5, 5, mutations(RECORD)["a record of ours"], 7), "a")
    assert (found.holder.id, found.serial, found.ask.weight, found.names) == ("h", 1, 1, ("a", "b"))


@pytest.mark.parametrize("value", [*VALUES.values(), *mutations(RECORD).values()])
def test_whatever_stands_there_is_a_contender_that_can_be_reckoned_with(value: bytes) -> None:
    found = contender_of(KeyValue(b"a/7", 5, 5, value, 7), "a")
    assert found.created == 5
    assert isinstance(found.serial, int)
    assert 0 < found.ask.weight < 2**63
    assert 0 < found.ask.limit < 2**63
    assert "a" in found.names
    for text in (*found.holder, found.ask.note, *found.names):
        text.encode()


@pytest.mark.parametrize("value", VALUES.values())
def test_an_eviction_that_was_overwritten_is_told_as_unreadable(value: bytes) -> None:
    assert eviction_of(value) == UNREADABLE


@pytest.mark.parametrize("key", [b"\xff/7", b"/7", b"x" * 2000 + b"/7", b"a\0b/7"])
def test_a_key_that_no_name_has_is_not_listed(key: bytes) -> None:
    assert name_of(KeyValue(key, 5, 5, b"", 7), "") is None


@pytest.mark.parametrize("suffix", [b"0", b"00", b"0.1", b"7"])
def test_a_key_without_a_lease_is_no_contender(suffix: bytes) -> None:
    """Nor is one that has the form of a key of lease 0: there is no such lease."""
    pair = KeyValue(b"shards/" + suffix, 5, 5, b"data", 0)
    assert not Place("", "shards").is_contender(pair)
    assert name_of(pair, "") is None


def test_nothing_keeps_a_large_value() -> None:
    value = b"x" * SMALL
    before = sys.getrefcount(value)
    contender_of(KeyValue(b"a/7", 5, 5, value, 7), "a")
    assert sys.getrefcount(value) == before
