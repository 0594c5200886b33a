"""What looks odd and will do works the same on every engine, and comes back as it was given."""

import threading
import uuid
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fencepost
from fencepost.core.duration import MOST_SECONDS
from fencepost.core.name import MOST_CHARACTERS, MOST_DATA, is_name
from fencepost.core.permit import MOST_COUNT
from fencepost.errors import EngineError
from fencepost.fences.result import MemoryResults
from fencepost.testing.condition import until
from fencepost.testing.contract import SITES, Site
from fencepost.testing.contract._sync.place import connect_to, until_free, until_waiting
from fencepost.testing.contract.need import needs
from tests.support.arguments.value import ODD

SERVED = ("redis", "redlock", "etcd", "zookeeper", "consul", "postgresql", "postgresql+advisory")
LABELS = (
    "🔒" * MOST_CHARACTERS,
    "two\nlines",
    "\u202e\x1b[2J",
    "'; DROP TABLE claim; --",
    "{a}:b*?[c] %s%41\\u0000",
    " ",
)
# Of what is kept in documents, where a change costs more.
FEW = (
    "🔒" * MOST_CHARACTERS,
    "x" * MOST_CHARACTERS,
    "two\nlines",
    "..",
    "//",
    "{a}:b*?[c]",
    "%41\\'\"",
    "\u202e\u0301",
)
# Any text that can be a name, and what generators find worth trying.
TEXTS = st.text(max_size=MOST_CHARACTERS).filter(is_name)


@pytest.fixture(
    params=[
        pytest.param("memory", marks=pytest.mark.unit),
        "sqlite",
        *(pytest.param(scheme, marks=pytest.mark.slow) for scheme in SERVED),
    ]
)
def site(request: pytest.FixtureRequest) -> Iterator[Site]:
    with SITES[request.param]() as site:
        yield site


def test_every_name_and_note_comes_back_from_a_look_and_from_the_list_of_names(site: Site) -> None:
    with connect_to(site) as session:
        grants = {}
        for name, note in zip(ODD, reversed(ODD), strict=True):
            grants[name] = session.lock(name, note=note).acquire()
        assert list(session.names()) == sorted(ODD)
        for name, note in zip(ODD, reversed(ODD), strict=True):
            (holder,) = session.look(name).holders
            assert (holder.claim.name, holder.claim.ask.note, holder.claim.token) == (name, note, grants[name].token)
            assert name in session.names(name[: MOST_CHARACTERS // 2])
        for name in ODD[:-1]:
            grants[name].release()
            assert not session.look(name).holders
        (evicted,) = session.evict(ODD[-1])
        assert evicted.name == ODD[-1]
        for name in ODD:
            until_free(session, name)
        assert not session.names()


def test_every_label_is_shown_as_it_was_given_of_holders_and_of_those_who_wait(site: Site) -> None:
    with connect_to(site) as other:
        for label in LABELS:
            with connect_to(site, label=label) as session:
                grant = other.lock("a").acquire()
                waits = threading.Thread(target=session.lock("a", note=label, timeout=300).__enter__)
                waits.start()
                until_waiting(other, "a", 1)
                ((waiter,), (mine,)) = other.look("a").waiters, session.look("a").waiters
                # What an advisory lock is about, others are told when it is held.
                assert mine.claim.ask.note == label
                assert waiter.claim.holder.label == label
                grant.release()
                waits.join()
                (holder,) = session.look("a").holders
                assert (holder.claim.holder.label, holder.claim.ask.note) == (label, label)


@needs("cells")
def test_what_members_leaders_and_runs_say_is_read_by_others_as_they_said_it(site: Site) -> None:
    with connect_to(site) as session, connect_to(site, label="other") as other:
        for name, text in zip(FEW, (*FEW[1:], "🔒" * MOST_DATA), strict=True):
            membership = session.group(name).join(text)
            assert [member.data for member in other.group(name).members()] == [text]
            membership.leave()
            with session.election(name, value=text):
                leader = other.election(name).leader()
                assert leader is not None
                assert leader.value == text
            tick = text[:MOST_CHARACTERS]
            run = session.job(name).begin(tick)
            assert run is not None
            with run:
                assert other.job(name).last(tick) == (tick, run.grant.token, session.label, "running", "", 0.0)
            assert session.once(name, store=MemoryResults()).run(lambda: text) == text  # noqa: B023
            with session.partitions(name, 1) as owned:
                until(lambda: list(owned.grants()) == [0])
            assert session.barrier(name, 1).wait(timeout=60) == 1
            assert session.latch(name, MOST_COUNT).count_down(MOST_COUNT) == 0
        assert not session.names()


@needs("counted")
def test_the_largest_semaphore_counts_to_its_limit(site: Site) -> None:
    with connect_to(site) as session, session.semaphore("a", limit=MOST_COUNT, weight=MOST_COUNT - 1):
        (holder,) = session.look("a").holders
        assert (holder.claim.ask.limit, holder.claim.ask.weight) == (MOST_COUNT, MOST_COUNT - 1)
        session.semaphore("a", limit=MOST_COUNT).acquire().release()
        assert session.semaphore("a", limit=MOST_COUNT, weight=2).try_acquire() is None


@needs("meters")
def test_the_slowest_and_the_quickest_rate_are_kept(site: Site) -> None:
    with connect_to(site) as session:
        assert session.rate_limit("b", 1, MOST_SECONDS).try_acquire() == 0.0
        assert session.rate_limit("b", 1, MOST_SECONDS).try_acquire() == pytest.approx(MOST_SECONDS, abs=600)
        assert session.rate_limit("c", 1_000_000, 1).try_acquire(weight=1_000_000) == 0.0


def test_the_longest_time_to_live_is_a_lease_or_is_refused_by_the_engine(site: Site) -> None:
    try:
        with connect_to(site, ttl=MOST_SECONDS) as session, session.lock("a") as grant:
            assert grant.remaining() > MOST_SECONDS / 2
    except EngineError:
        # Those whose servers have a longest.
        assert site.scheme in ("zookeeper", "consul", "postgresql+advisory")


def test_whoever_waits_for_an_odd_name_and_the_longest_time_is_woken_as_ever(site: Site) -> None:
    with connect_to(site) as holder, connect_to(site, label="waiter") as waiter:
        for name in (*FEW, " ", "a b\n", "a..b\n", ".", "/"):
            grant = holder.lock(name).acquire()
            granted: list[fencepost.Grant] = []
            lock = waiter.lock(name, timeout=MOST_SECONDS)
            waits = threading.Thread(target=lambda: granted.append(lock.acquire()))  # noqa: B023
            waits.start()
            until_waiting(holder, name, 1)
            grant.release()
            waits.join()
            granted[0].release()


@pytest.mark.unit
@settings(max_examples=50)
@given(name=TEXTS, note=st.text(max_size=MOST_CHARACTERS), label=st.text(max_size=MOST_CHARACTERS))
def test_any_text_that_is_not_refused_comes_back_as_it_was_given(name: str, note: str, label: str) -> None:
    url = f"memory://{uuid.uuid4().hex}"
    if not is_name(f"x{note}"[:MOST_CHARACTERS]):
        note = ""
    if not is_name(label):
        label = "label"
    with fencepost.connect(url, ttl=300, holder=label) as session, session.lock(name, note=note):
        (holder,) = session.look(name).holders
        assert (holder.claim.name, holder.claim.ask.note, holder.claim.holder.label) == (name, note, label)
        assert list(session.names(name)) == [name]
