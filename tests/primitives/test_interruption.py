"""An exception out of a signal handler, at each point of what is made of several locks: nothing is left held."""

import itertools
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

import fencepost
from fencepost.primitives._sync.acquirable import Block
from fencepost.testing.condition import until
from fencepost.testing.contract.interruption.threads import every_step
from tests.support.interruption import Stop, interrupt_at

pytestmark = pytest.mark.unit
# No Python code is safe there: the interpreter has not entered the `try` of it yet.
UNSAFE = ("call __enter__", "call __exit__")
# What is called before a session counts as closed.
BEFORE_CLOSING = ("close", "is_gone", "check_open", "home")


@pytest.fixture
def thread() -> Iterator[ThreadPoolExecutor]:
    """One of the test's own: an interruption may leave a limit for the calls of the thread that it comes to."""
    with ThreadPoolExecutor(1) as thread:
        yield thread


def enter_twice(session: fencepost.Session) -> None:
    lock = session.semaphore("a", limit=2)
    with lock, lock:
        pass


def meet(session: fencepost.Session) -> None:
    session.barrier("b", 1).wait()


def run_a_job(session: fencepost.Session) -> None:
    run = session.job("j").begin("it", again=True)
    if run is not None:
        with run:
            raise ZeroDivisionError


@pytest.mark.parametrize("work", [enter_twice, meet, run_a_job])
def test_whatever_is_interrupted_anywhere_leaves_nothing_held(
    work: Callable[[fencepost.Session], None], thread: ThreadPoolExecutor
) -> None:
    def tried() -> None:
        try:
            work(session)
        except ZeroDivisionError:
            pass

    with fencepost.connect(f"memory://{work.__name__}", ttl=600) as session:
        keeper = session.keeper()
        for point in itertools.count():
            where = thread.submit(interrupt_at, point, tried).result()
            if where is None:
                break
            if any(unsafe in where for unsafe in UNSAFE):
                for grant in keeper.grants():
                    grant.release()
            # What is noted there is settled a little later.
            keeper.settlement.settle_all()
            assert session.names() == [], where
        assert point > 50


def test_who_is_interrupted_at_any_line_of_an_inner_block_of_a_lock_holds_it_in_the_outer_one() -> None:
    with fencepost.connect("memory://interrupted-inside", ttl=600) as session:
        lock = session.lock("a", reentrant=True)
        outer = lock.acquire()

        def inner() -> None:
            with lock:
                pass

        def check(where: str) -> None:
            nonlocal outer
            assert outer.held, where
            outer.release()
            assert outer.released, where
            outer = lock.acquire()

        assert every_step(inner, check) > 20
        check("at the end")


def release_one(session: fencepost.Session) -> tuple[list[fencepost.Grant], Callable[[], object]]:
    grant = session.lock("a").acquire()
    return [grant], grant.release


def release_several(session: fencepost.Session) -> tuple[list[fencepost.Grant], Callable[[], object]]:
    grants = session.lock_all(["a", "b"]).acquire()
    return list(grants.values()), grants.release


@pytest.mark.parametrize("make", [release_one, release_several])
def test_a_grant_never_says_that_it_is_held_when_its_release_was_interrupted_and_it_is_not(
    make: Callable[[fencepost.Session], tuple[list[fencepost.Grant], Callable[[], object]]],
) -> None:
    with fencepost.connect(f"memory://{make.__name__}", ttl=600) as session:
        for point in itertools.count():
            grants, release = make(session)
            where = interrupt_at(point, release)
            session.keeper().settlement.settle_all()
            held = session.names()
            assert [grant.name for grant in grants if grant.held] == held, where
            for grant in grants:
                if grant.held:
                    grant.release()
            if where is None:
                break
    assert point > 20


def leave_by_block(session: fencepost.Session) -> None:
    with session.lock("a"):
        pass


def test_a_block_whose_code_is_looked_for_as_it_is_interrupted_is_given_back() -> None:
    with fencepost.connect("memory://interrupted-exit", ttl=600) as session:
        seen = []
        for point in itertools.count():
            where = interrupt_at(point, lambda: leave_by_block(session))
            if where is None:
                break
            seen.append(where)
            session.keeper().settlement.settle_all()
            assert session.names() == [], where
        assert [where for where in seen if "_getframe" in where]


def test_who_is_interrupted_as_it_becomes_a_worker_keeps_no_partition(monkeypatch: pytest.MonkeyPatch) -> None:
    with fencepost.connect("memory://interrupted-worker", ttl=600) as session:

        def arm(block: object) -> None:
            until(lambda: len(session.names("p/partition")) == 2)
            raise Stop

        monkeypatch.setattr(Block, "arm", arm)
        with pytest.raises(Stop), session.partitions("p", 2):
            pass
        assert session.names() == []


def test_a_session_whose_end_is_interrupted_anywhere_holds_nothing_and_renews_nothing(
    thread: ThreadPoolExecutor,
) -> None:
    with fencepost.connect("memory://interrupted-end", ttl=600) as onlooker:
        for point in itertools.count():
            session = fencepost.connect("memory://interrupted-end", ttl=600)
            grant = session.lock("a").acquire()
            where = thread.submit(interrupt_at, point, session.close).result()
            # Before these it is as if it had not been closed.
            if grant.held and where is not None and where.split(": ")[1].split()[1] in BEFORE_CLOSING:
                session.close()
            assert onlooker.names() == [], where
            assert session._keeper is not None
            assert session._keeper._stop.is_set(), where
            if where is None:
                break
    assert point > 20
