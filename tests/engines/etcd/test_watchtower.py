"""What a watch stream says, and who is told."""

import pytest

from fencepost.core.claim import Ask, Request
from fencepost.core.holder import Holder
from fencepost.drivers.etcd.protobuf import message, number, text
from fencepost.engines.etcd.key import Place
from fencepost.engines.etcd.lease import Entry, Lease
from fencepost.engines.etcd.record import Contender
from fencepost.engines.etcd.watchtower import LINGER, Watchtower

CREATED = number(3, 1)
CANCELLED = number(4, 1) + text(6, b"etcdserver: no leader")
COMPACTED = number(5, 90)


def said(watch: int, what: bytes, revision: int = 0) -> bytes:
    return message(1, number(1, 7) + number(3, revision)) + number(2, watch) + what


def left(key: bytes, revision: int) -> bytes:
    return message(11, number(1, 1) + message(2, text(1, key) + number(3, revision)))


class Town:
    """A tower over one name, where one waits behind another."""

    def __init__(self) -> None:
        self.now = 100.0
        self.tower = Watchtower(lambda: self.now)
        self.place = Place("", "a")
        holder = Holder("h", "h")
        self.lease = Lease(holder)
        self.entry: Entry = self.lease.note(Request(holder, 1, (Ask("a"),)), [self.place])
        self.entry.created = 12
        other = Holder("other", "other")
        self.queue = [
            Contender(b"a/ff", 10, 255, other, 1, Ask("a"), ("a",)),
            Contender(self.entry.keys[0], 12, self.lease.id, holder, 1, Ask("a"), ("a",)),
        ]

    def open(self, revision: int = 11) -> int:
        view, waiter, new = self.tower.open(self.place)
        assert new
        assert not waiter.stirred
        self.tower.hear(said(view.number, CREATED, revision))
        assert waiter.stirred
        return view.number


def test_a_waiter_is_told_when_the_one_before_it_has_left() -> None:
    town = Town()
    watch = town.open()
    assert town.tower.station(town.entry, {"a": town.queue}, 12)
    assert not town.entry.waiter.stirred
    town.tower.hear(said(watch, left(b"a/ff", 13)))
    assert town.entry.waiter.stirred
    assert town.tower.has_won(town.entry)


def test_a_waiter_whose_own_key_is_gone_is_told_and_has_not_won() -> None:
    town = Town()
    watch = town.open()
    town.tower.station(town.entry, {"a": town.queue}, 12)
    town.tower.hear(said(watch, left(town.entry.keys[0], 13) + left(b"a/ff", 14)))
    assert town.entry.waiter.stirred
    assert not town.tower.has_won(town.entry)


def test_a_queue_read_before_the_watch_was_open_is_not_relied_on() -> None:
    town = Town()
    assert not town.tower.station(town.entry, {"a": town.queue}, 12)
    town.open(revision=20)
    assert not town.tower.station(town.entry, {"a": town.queue}, 12)
    assert town.tower.station(town.entry, {"a": town.queue}, 20)


@pytest.mark.parametrize("end", [CANCELLED, COMPACTED])
def test_a_watch_that_the_server_ends_is_told_to_all_who_wait_and_opened_again(end: bytes) -> None:
    town = Town()
    watch = town.open()
    town.tower.station(town.entry, {"a": town.queue}, 12)
    town.tower.hear(said(watch, end))
    assert town.entry.waiter.stirred
    assert not town.tower.has_won(town.entry)
    assert town.open() != watch


def test_a_lost_stream_is_told_to_all_who_wait_and_to_all_who_open() -> None:
    town = Town()
    town.open()
    town.tower.station(town.entry, {"a": town.queue}, 12)
    _, opener, _ = town.tower.open(Place("", "b"))
    town.tower.drop_all()
    assert town.entry.waiter.stirred
    assert opener.stirred
    assert town.tower.is_empty


def test_a_watch_is_kept_for_a_while_after_the_last_who_waited() -> None:
    town = Town()
    watch = town.open()
    town.tower.station(town.entry, {"a": town.queue}, 12)
    town.now += LINGER * 2
    assert town.tower.idle() == []
    town.tower.leave(town.entry)
    assert town.tower.idle() == []
    town.now += LINGER * 2
    assert [view.number for view in town.tower.idle()] == [watch]
    assert town.tower.is_empty
