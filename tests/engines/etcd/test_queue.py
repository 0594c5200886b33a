"""Who holds, decided from the queues alone."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fencepost.core.claim import Ask, Mode, Request
from fencepost.core.holder import Holder
from fencepost.drivers.etcd.answer import Change, KeyValue
from fencepost.drivers.etcd.protobuf import message, number, text
from fencepost.engines.etcd.key import Place, name_of
from fencepost.engines.etcd.lease import Lease
from fencepost.engines.etcd.queue import granted, unknown
from fencepost.engines.etcd.record import Contender, contender_of, value_of
from fencepost.engines.etcd.view import View
from fencepost.testing.model import Model

pytestmark = pytest.mark.unit

# Each takes microseconds, unless the machine is busy with something else.
LEISURELY = settings(deadline=None)
NAMES = ("a", "b", "c")


def asks() -> st.SearchStrategy[tuple[Ask, ...]]:
    one = st.builds(
        lambda mode, limit, weight: (mode, min(limit, weight), limit),
        st.sampled_from(Mode),
        st.integers(1, 3),
        st.integers(1, 3),
    )
    names = st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique=True)
    return st.builds(
        lambda names, one: tuple(Ask(name, *(one if one[0] is Mode.COUNTED else (one[0],))) for name in names),
        names,
        one,
    )


def queues_of(model: Model) -> dict[str, list[Contender]]:
    """The keys that would stand in etcd for this line."""
    found: dict[str, list[Contender]] = {name: [] for name in NAMES}
    for entry in model.line:
        holder, serial, wanted, _ = entry.request
        names = tuple(ask.name for ask in wanted)
        for name, ask in entry.asks.items():
            found[name].append(Contender(b"", serial, 1, holder, serial, ask, names))
    return found


@LEISURELY
@given(
    st.lists(st.one_of(asks(), st.integers(0, 9), st.tuples(st.integers(0, 9), st.sampled_from(NAMES))), max_size=25)
)
def test_whoever_the_model_grants_to_is_granted_and_nobody_else(life: list[object]) -> None:
    """Requests come, leave, and give back a part of what they hold; nobody writes down who was granted what."""
    model = Model()
    model.open(Holder("h", "h"), 60)
    serial = 0
    for event in life:
        if isinstance(event, int):
            if model.line:
                model.withdraw(model.line[event % len(model.line)].request)
        elif isinstance(event[0], int):  # type: ignore[index]
            if model.line:
                model.release(model.line[event[0] % len(model.line)].request, event[1])  # type: ignore[index]
        else:
            serial += 1
            model.claim(Request(Holder("h", "h"), serial, event), wait=True)  # type: ignore[arg-type]
        queues = queues_of(model)
        assert granted(queues) == {entry.key for entry in model.line if entry.granted}


def test_queues_that_decide_and_are_not_known_are_named() -> None:
    holder = Holder("h", "h")
    both = Contender(b"", 1, 1, holder, 1, Ask("a"), ("a", "b"))
    assert unknown({"a": [both]}) == {"b"}
    assert unknown({"a": [both], "b": []}) == set()


def test_a_contender_comes_back_as_it_was_written() -> None:
    holder = Holder("h", "label ключ")
    request = Request(holder, 7, (Ask("a", Mode.COUNTED, 2, 3, 'note "quoted"'), Ask("b")))
    for ask in request.asks:
        found = contender_of(KeyValue(b"a/1", 5, 5, value_of(request, ask, b"0000000007"), 1), ask.name)
        assert found == Contender(b"a/1", 5, 1, holder, 7, ask, ("a", "b"))


def test_a_value_that_is_not_ours_is_somebody_exclusive() -> None:
    for value in (b"", b"text", b"{", b'{"mode": "odd"}', b"{}"):
        found = contender_of(KeyValue(b"a/ff", 5, 5, value, 255), "a")
        assert (found.holder.label, found.ask) == ("etcd lease ff", Ask("a"))


def test_a_key_is_a_contender_only_if_it_names_its_own_lease() -> None:
    place = Place("", "a")
    for key, lease, is_one in (
        (b"a/ff", 255, True),
        (b"a/ff.3", 255, True),
        (b"a/ff", 254, False),
        (b"a/b/ff", 255, False),
        (b"a/config", 0, False),
        (b"a/ff.x", 255, False),
    ):
        assert place.is_contender(KeyValue(key, 1, 1, b"", lease)) is is_one
    assert name_of(KeyValue(b"p/a/b/ff", 1, 1, b"", 255), "p/") == "a/b"
    assert name_of(KeyValue(b"\0fencepost/epoch/ff", 1, 1, b"", 255), "") is None


def contender(lease: int) -> Contender:
    return contender_of(KeyValue(b"a/%x" % lease, lease, lease, b"", lease), "a")


def leases(view: View) -> list[int]:
    return [each.lease for each in view.queue]


def test_a_view_forgets_those_who_leave_after_it_was_read() -> None:
    view = View(Place("", "a"))
    first, second = contender(10), contender(11)
    view.take_in([first, second], 11)
    # That one left before: the key was used again since.
    view.apply([Change(9, first.key, None)])
    assert leases(view) == [10, 11]
    view.apply([Change(12, first.key, None)])
    assert leases(view) == [11]


def test_a_queue_read_before_the_latest_news_adds_those_who_came_and_nobody_who_left() -> None:
    view = View(Place("", "a"))
    first, second, third = contender(10), contender(11), contender(12)
    view.take_in([first, second], 11)
    view.apply([Change(13, first.key, None)])
    view.take_in([first, second, third], 12)
    assert leases(view) == [11, 12]


def test_a_view_says_when_it_may_have_forgotten_who_left() -> None:
    view = View(Place("", "a"))
    view.is_live, view.live_from = True, 5
    assert not view.knows_since(4)
    assert view.knows_since(5)
    view.apply([Change(10 + number, b"a/%x" % number, None) for number in range(1_001)])
    assert not view.knows_since(9)
    assert view.knows_since(10)


def event(lease: int, revision: int) -> bytes:
    """What a watch tells of a deletion."""
    return number(1, 1) + message(2, text(1, b"a/%x" % lease) + number(3, revision))


def test_a_waiter_is_concerned_by_its_own_end_and_by_that_of_the_one_before_it() -> None:
    view = View(Place("", "a"))
    holder = Holder("h", "h")
    lease = Lease(holder)
    entry = lease.note(Request(holder, 1, (Ask("a"),)), [view.place])
    own = Contender(entry.keys[0], 13, lease.id, holder, 1, Ask("a"), ("a",))
    view.take_in([contender(10), contender(11), contender(12), own], 13)
    view.entries[0] = entry
    view.await_ends()
    assert not view.hear([event(10, 14)])
    assert view.hear([event(12, 15)])
    view.await_ends()
    assert leases(view) == [11, lease.id]
    assert view.hear([event(11, 16)])
    assert view.is_first(entry)
    assert view.hear([event(lease.id, 17)])
    assert not view.has(entry)


def rewritten(lease: int, revision: int) -> KeyValue:
    """A contender's key after its holder went on as a reader."""
    value = b'{"serial":"0000000001","holder":"x","label":"x","mode":"shared"}'
    return KeyValue(b"a/%x" % lease, lease, revision, value, lease)


def modes(view: View) -> list[tuple[int, Mode]]:
    return [(each.lease, each.ask.mode) for each in view.queue]


def test_a_view_for_readers_sees_who_goes_on_as_a_reader_and_not_who_comes() -> None:
    view = View(Place("", "a"), for_readers=True)
    view.take_in([contender(10), contender(11)], 11)
    holder, came = rewritten(10, 13), rewritten(12, 12)
    assert not view.hear([message(2, _packed(came))])
    assert view.hear([message(2, _packed(holder))])
    assert modes(view) == [(10, Mode.SHARED), (11, Mode.EXCLUSIVE)]


def test_a_queue_read_before_a_holder_went_on_as_a_reader_does_not_bring_the_writer_back() -> None:
    view = View(Place("", "a"), for_readers=True)
    # Heard before anything was read, and then once more with what is known.
    for _ in range(2):
        view.apply([Change(13, b"a/a", rewritten(10, 13))])
        view.take_in([contender(10), contender(11)], 12)
        assert modes(view) == [(10, Mode.SHARED), (11, Mode.EXCLUSIVE)]
    view.take_in([contender(11)], 14)
    view.apply([Change(13, b"a/a", rewritten(10, 13))])
    assert modes(view) == [(11, Mode.EXCLUSIVE)]


def test_a_key_that_is_no_contender_is_not_made_one_by_being_written() -> None:
    view = View(Place("", "a"), for_readers=True)
    view.apply([Change(13, b"a/b/a", rewritten(10, 13)._replace(key=b"a/b/a"))])
    assert view.queue == []


def _packed(pair: KeyValue) -> bytes:
    made = text(1, pair.key) + number(2, pair.created) + number(3, pair.modified)
    return made + text(5, pair.value) + number(6, pair.lease)


def test_a_slot_is_given_back_once_and_used_again() -> None:
    holder = Holder("h", "h")
    lease = Lease(holder)
    place = Place("", "a")
    one, two = (lease.note(Request(holder, serial, (Ask("a"),)), [place]) for serial in (1, 2))
    assert (one.keys, two.keys) == ([b"a/%x" % lease.id], [b"a/%x.1" % lease.id])
    lease.drop(one, "a")
    three = lease.note(Request(holder, 3, (Ask("a"),)), [place])
    assert three.keys == one.keys
    lease.drop(one, "a")
    four = lease.note(Request(holder, 4, (Ask("a"),)), [place])
    assert four.keys not in (two.keys, three.keys)
