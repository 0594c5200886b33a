"""What a watch stream says, and who is told."""

import itertools

import pytest

from fencepost.core.claim import Ask, Request
from fencepost.core.holder import Holder
from fencepost.drivers.etcd import request
from fencepost.drivers.etcd.protobuf import message, number, text
from fencepost.engines.etcd.key import Place
from fencepost.engines.etcd.lease import Entry, Lease
from fencepost.engines.etcd.record import Contender
from fencepost.engines.etcd.view import MOST_UNREAD, View
from fencepost.engines.etcd.watchtower import LINGER, MOST_DOUBTS, Watchtower
from tests.support.now import now

pytestmark = pytest.mark.unit

CREATED = number(3, 1)
CANCELLED = number(4, 1) + text(6, b"etcdserver: no leader")
COMPACTED = number(5, 90)


def said(watch: int, what: bytes, revision: int = 0) -> bytes:
    return message(1, number(1, 7) + number(3, revision)) + number(2, watch) + what


def left(key: bytes, revision: int) -> bytes:
    return message(11, number(1, 1) + message(2, text(1, key) + number(3, revision)))


def watching(number: int) -> bytes:
    place = Place("", "a")
    return request.watch_range(number, place.start, place.end, writes=False)


def ending(number: int) -> bytes:
    return request.unwatch(number)


class Town:
    """A tower over one name, where one waits behind another."""

    def __init__(self) -> None:
        self.now = 100.0
        self.numbers = itertools.count()
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

    def joins(self, *, serial: int, created: int) -> tuple[Entry, Contender]:
        """Another of the same session, and how it stands in the queue."""
        holder = self.lease.holder
        entry = self.lease.note(Request(holder, serial, (Ask("a"),)), [self.place])
        entry.created = created
        return entry, Contender(entry.keys[0], created, self.lease.id, holder, serial, Ask("a"), ("a",))

    def say(self, view: View) -> list[bytes]:
        """What is said of it, on a stream where so many watches were asked for before."""
        return [each if isinstance(each, bytes) else each(next(self.numbers)) for each in self.tower.words(view)]

    def open(self, revision: int = 11) -> int:
        view, waiter, new = self.tower.open(self.place)
        assert new
        words = self.say(view)
        assert view.number is not None
        assert view.witness is not None
        assert words == [watching(view.number), watching(view.number + 1)]
        self.tower.hear(said(view.number, CREATED, revision))
        assert not now(waiter.stirred)
        self.tower.hear(said(view.witness, CREATED, revision))
        assert waiter.stirred
        assert self.say(view) == [ending(view.witness)]
        return view.number


def test_a_waiter_is_told_when_the_one_before_it_has_left() -> None:
    town = Town()
    watch = town.open()
    assert town.tower.station(town.entry, {"a": town.queue}, 12)
    assert not now(town.entry.waiter.stirred)
    town.tower.hear(said(watch, left(b"a/ff", 13)))
    assert town.entry.waiter.stirred
    assert town.tower.has_won(town.entry)


def test_what_is_told_while_nobody_waits_is_not_piled_up_and_known_to_who_comes_then() -> None:
    town = Town()
    watch = town.open()
    view, _, new = town.tower.open(town.place)
    assert not new
    town.tower.hear(said(watch, left(b"a/ff", 13)))
    for revision in range(14, 14 + 5 * MOST_UNREAD):
        town.tower.hear(said(watch, left(b"a/%x" % revision, revision)))
        assert len(view._unread) < MOST_UNREAD
    # What it has read is older than what was told meanwhile.
    assert town.tower.station(town.entry, {"a": town.queue}, 12)
    assert town.tower.has_won(town.entry)


def test_a_waiter_is_told_when_it_is_a_newcomer_s_read_that_shows_the_end_of_the_one_before_it() -> None:
    town = Town()
    watch = town.open()
    town.tower.station(town.entry, {"a": town.queue}, 12)
    newcomer, own = town.joins(serial=2, created=14)
    # What it has read is ahead of what the watch has told.
    assert town.tower.station(newcomer, {"a": [town.queue[1], own]}, 14)
    assert (town.entry.waiter.stirred, newcomer.waiter.stirred) == (True, False)
    assert town.tower.has_won(town.entry)
    town.tower.leave(town.entry)
    town.tower.hear(said(watch, left(b"a/ff", 13)))
    assert not newcomer.waiter.stirred
    town.tower.hear(said(watch, left(town.entry.keys[0], 15)))
    assert town.tower.has_won(newcomer)


def test_a_waiter_is_told_when_a_newcomer_s_read_shows_that_it_was_evicted() -> None:
    town = Town()
    town.open()
    town.tower.station(town.entry, {"a": town.queue}, 12)
    newcomer, own = town.joins(serial=2, created=14)
    assert town.tower.station(newcomer, {"a": [town.queue[0], own]}, 14)
    assert (town.entry.waiter.stirred, newcomer.waiter.stirred) == (True, False)
    assert not town.tower.has_won(town.entry)


def test_a_newcomer_whose_read_shows_nobody_s_end_wakes_nobody() -> None:
    town = Town()
    town.open()
    town.tower.station(town.entry, {"a": town.queue}, 12)
    newcomer, own = town.joins(serial=2, created=14)
    assert town.tower.station(newcomer, {"a": [*town.queue, own]}, 14)
    assert (town.entry.waiter.stirred, newcomer.waiter.stirred) == (False, False)


def test_an_older_read_does_not_bring_back_who_was_gone_in_a_newer_one() -> None:
    town = Town()
    watch = town.open()
    newcomer, own = town.joins(serial=2, created=14)
    assert town.tower.station(newcomer, {"a": [town.queue[1], own]}, 14)
    # The first has read before that, and comes with it after that.
    assert town.tower.station(town.entry, {"a": town.queue}, 12)
    assert town.entry.waiter.stirred
    assert town.tower.has_won(town.entry)
    town.tower.hear(said(watch, left(b"a/ff", 13)))
    assert town.tower.has_won(town.entry)
    town.tower.leave(town.entry)
    town.tower.hear(said(watch, left(town.entry.keys[0], 15)))
    assert newcomer.waiter.stirred
    assert town.tower.has_won(newcomer)


def test_a_read_that_is_older_than_what_was_heard_adds_who_came_and_not_who_left() -> None:
    town = Town()
    watch = town.open()
    assert town.tower.station(town.entry, {"a": town.queue}, 12)
    newcomer, own = town.joins(serial=2, created=14)
    town.tower.hear(said(watch, left(b"a/ff", 15)))
    assert town.tower.station(newcomer, {"a": [*town.queue, own]}, 14)
    assert town.tower.has_won(town.entry)
    assert not newcomer.waiter.stirred
    town.tower.hear(said(watch, left(town.entry.keys[0], 16)))
    assert town.tower.has_won(newcomer)


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


def test_a_watch_that_something_was_written_beside_is_replaced_by_the_next() -> None:
    town = Town()
    view, waiter, _ = town.tower.open(town.place)
    _, other, _ = town.tower.open(town.place)
    town.say(view)
    first, second = 0, 1
    town.tower.hear(said(first, CREATED, 11))
    town.tower.hear(said(second, CREATED, 12))
    assert (waiter.stirred, other.stirred, view.is_live) == (True, False, False)
    third = second + 1
    assert town.say(view) == [ending(first), watching(third)]
    town.tower.hear(said(third, CREATED, 12))
    assert other.stirred
    assert town.say(view) == [ending(third)]
    assert (view.number, view.is_live, view.live_from) == (second, True, 12)


def test_only_the_watch_that_is_kept_is_listened_to() -> None:
    town = Town()
    watch = town.open()
    town.tower.station(town.entry, {"a": town.queue}, 12)
    town.tower.hear(said(watch + 1, left(b"a/ff", 13)))
    town.tower.hear(said(watch + 1, CANCELLED))
    assert not town.entry.waiter.stirred
    town.tower.hear(said(watch, left(b"a/ff", 13)))
    assert town.entry.waiter.stirred


def test_where_something_is_written_all_the_time_a_watch_is_taken_as_it_is() -> None:
    town = Town()
    view, waiter, _ = town.tower.open(town.place)
    town.say(view)
    revision = 11
    town.tower.hear(said(0, CREATED, revision))
    for witness in range(1, MOST_DOUBTS + 1):
        revision += 1
        town.tower.hear(said(witness, CREATED, revision))
        assert not view.is_live
        town.say(view)
    waiter.stirred = False
    town.tower.hear(said(MOST_DOUBTS + 1, CREATED, revision + 1))
    assert (view.is_live, waiter.stirred, view.live_from) == (True, True, revision)


@pytest.mark.parametrize("number", [1, -1 & (1 << 64) - 1], ids=["by its number", "by none"])
def test_a_watch_that_is_not_let_in_is_over_and_why_is_told_once(number: int) -> None:
    town = Town()
    view, opener, _ = town.tower.open(town.place)
    town.say(view)
    town.tower.hear(said(number, CREATED + CANCELLED))
    assert (view.is_over, opener.stirred) == (True, True)
    assert town.tower.take_refusal() == "etcdserver: no leader"
    assert town.tower.take_refusal() is None


def test_what_is_live_stays_when_another_watch_is_not_let_in() -> None:
    town = Town()
    watch = town.open()
    town.tower.station(town.entry, {"a": town.queue}, 12)
    view, _, _ = town.tower.open(Place("", "b"))
    town.say(view)
    town.tower.hear(said(-1 & (1 << 64) - 1, CREATED + CANCELLED))
    assert view.is_over
    town.tower.hear(said(watch, left(b"a/ff", 13)))
    assert town.tower.has_won(town.entry)


def test_a_watch_that_is_still_being_opened_is_not_idle() -> None:
    town = Town()
    view, _, _ = town.tower.open(town.place)
    town.now += LINGER * 2
    assert town.tower.idle() == []
    town.tower.drop(view)


def test_of_a_view_that_is_over_nothing_more_is_asked() -> None:
    town = Town()
    view, _, _ = town.tower.open(town.place)
    town.say(view)
    town.tower.hear(said(1, CANCELLED))
    assert view.is_over
    assert town.say(view) == []
    assert town.tower.is_empty


def test_the_two_watches_of_a_view_may_be_confirmed_in_either_order() -> None:
    town = Town()
    view, waiter, _ = town.tower.open(town.place)
    town.say(view)
    town.tower.hear(said(1, CREATED, 11))
    assert not waiter.stirred
    town.tower.hear(said(0, CREATED, 11))
    assert (waiter.stirred, view.is_live, view.number) == (True, True, 1)
    assert town.say(view) == [ending(0)]
    assert town.tower.station(town.entry, {"a": town.queue}, 12)
    town.tower.hear(said(1, left(b"a/ff", 13)))
    assert town.tower.has_won(town.entry)


def test_a_number_of_a_lost_stream_is_another_s_on_the_next() -> None:
    town = Town()
    before, _, _ = town.tower.open(town.place)
    town.say(before)
    town.tower.drop_all()
    town.numbers = itertools.count()
    assert town.open() == 0
    # Whoever opened the first is late to hear that it is over.
    town.tower.drop(before)
    assert town.say(before) == []
    assert town.tower.station(town.entry, {"a": town.queue}, 12)
    town.tower.hear(said(0, left(b"a/ff", 13)))
    assert town.tower.has_won(town.entry)
