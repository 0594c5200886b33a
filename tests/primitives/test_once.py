"""Once-only work: in each store, between threads, and between processes that die and stall."""

import asyncio
import json
import sqlite3
import threading
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest
import redis

import fencepost
from fencepost.errors import AcquireTimeout, FencepostError, Refused, Stale
from fencepost.fences.result import (
    AsyncMemoryResults,
    AsyncSqlResults,
    FileResults,
    MemoryResults,
    RedisResults,
    Results,
    SqlResults,
)
from fencepost.testing.condition import until
from fencepost.testing.redis import command, shared_server
from tests.support.fences.database import (
    AutocommitPlace,
    DatabasePlace,
    DjangoPlace,
    MariadbPlace,
    PostgresqlPlace,
    SqlalchemyPlace,
)
from tests.support.fences.process import resume, started, stop

STORES = (
    pytest.param("memory", marks=pytest.mark.unit),
    pytest.param("file", marks=pytest.mark.unit),
    pytest.param("sqlite", marks=pytest.mark.unit),
    "postgresql",
    pytest.param("mariadb", marks=pytest.mark.slow),
    "redis",
)


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Results]:
    match request.param:
        case "memory":
            yield MemoryResults()
        case "file":
            yield FileResults(tmp_path / "results.db")
        case "sqlite":
            connection = sqlite3.connect(tmp_path / "results.db")
            yield SqlResults(connection)
            connection.close()
        case "redis":
            command(shared_server(), "FLUSHALL")
            client = redis.Redis(port=shared_server())
            yield RedisResults(client)
            client.close()
        case database:
            place = (PostgresqlPlace if database == "postgresql" else MariadbPlace)(tmp_path)
            yield SqlResults(place.connect())
            place.close()


@pytest.fixture
def session(tmp_path: Path) -> Iterator[fencepost.Session]:
    with fencepost.connect(f"sqlite://{tmp_path}/locks.db") as session:
        yield session


class Counted:
    """Work that counts how often it was done, and gives what it was given."""

    def __init__(self, result: Any = "done") -> None:
        self.times, self.result = 0, result

    def __call__(self) -> Any:
        self.times += 1
        if isinstance(self.result, Exception):
            raise self.result
        return self.result


# What a store promises


def test_a_result_is_kept_and_found(store: Results) -> None:
    assert store.find("a") is None
    assert store.claim("a", 5) is None
    store.keep("a", 5, '{"é": 1}', None)
    assert store.find("a") == store.claim("a", 6) == '{"é": 1}'
    assert store.find("b") is None


def test_an_overtaken_worker_can_not_commit(store: Results) -> None:
    store.claim("a", 5)
    store.claim("a", 6)
    with pytest.raises(Stale) as refused:
        store.keep("a", 5, '"late"', None)
    assert (refused.value.token, refused.value.highest) == (5, 6)
    with pytest.raises(Stale):
        store.claim("a", 5)
    store.keep("a", 6, '"newer"', None)
    with pytest.raises(Stale):
        store.keep("a", 5, '"late"', 10.0)
    assert store.find("a") == '"newer"'


def test_a_result_expires_and_its_mark_outlives_it(store: Results) -> None:
    store.claim("a", 5)
    store.keep("a", 5, '"old"', 0.05)
    until(lambda: store.find("a") is None)
    attempts: tuple[Callable[[], object], ...] = (
        lambda: store.claim("a", 4),
        lambda: store.keep("a", 4, '"late"', None),
    )
    for late in attempts:
        with pytest.raises(Stale):
            late()
    assert store.claim("a", 6) is None
    with pytest.raises(Stale):
        store.keep("a", 5, '"late"', None)
    store.keep("a", 6, '"new"', 60.0)
    assert store.find("a") == '"new"'


def test_a_long_name_is_a_name_like_others(store: Results) -> None:
    name = "once/" + "é" * 1000
    store.claim(name, 5)
    store.keep(name, 5, "1", None)
    assert store.find(name) == "1"


def test_what_expired_long_ago_is_forgotten_and_nothing_else(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "results.db")
    store = SqlResults(connection)
    for name, expires_in in (("old", 0.0), ("expired", 0.0), ("kept", None)):
        store.claim(name, 5)
        store.keep(name, 5, "1", expires_in)
    # Eight days later, for one of them.
    connection.execute("UPDATE fencepost_result SET forget_at = forget_at - 8 * 86400 WHERE name = 'old'")
    connection.commit()
    assert store.forget() == 1
    assert sorted(name for (name,) in connection.execute("SELECT name FROM fencepost_result")) == ["expired", "kept"]
    connection.close()


@pytest.fixture(params=["sqlite", "postgresql", pytest.param("mariadb", marks=pytest.mark.slow)])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Any, Callable[[], None]]]:
    """A connection, and what makes it eight days later there."""
    places = {"postgresql": PostgresqlPlace, "mariadb": MariadbPlace}
    place = places[request.param](tmp_path) if request.param in places else None
    connection = sqlite3.connect(tmp_path / "results.db") if place is None else place.connect()

    def eight_days_later() -> None:
        connection.cursor().execute(
            "UPDATE fencepost_result SET expires_at = expires_at - 691200, forget_at = forget_at - 691200"
        )
        connection.commit()

    yield connection, eight_days_later
    (connection if place is None else place).close()


def test_a_result_that_does_not_expire_is_never_forgotten_whoever_asks_for_it(
    database: tuple[Any, Callable[[], None]],
) -> None:
    connection, eight_days_later = database
    store = SqlResults(connection)
    store.claim("a", 5)
    store.keep("a", 5, '"paid"', None)
    assert store.claim("a", 6) == '"paid"'
    eight_days_later()
    assert store.forget() == 0
    assert store.find("a") == '"paid"'
    with pytest.raises(Stale):
        store.claim("a", 5)


def test_a_worker_that_was_forgotten_is_told_that_its_result_was_not_kept(
    database: tuple[Any, Callable[[], None]],
) -> None:
    connection, eight_days_later = database
    store = SqlResults(connection)
    store.claim("a", 5)
    eight_days_later()
    assert store.forget() == 1
    with pytest.raises(Stale, match="token 5 for 'a' is stale: what it once claimed is not known any more"):
        store.keep("a", 5, '"late"', None)
    assert store.find("a") is None


def test_a_mark_in_a_database_that_is_no_token_is_refused(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "results.db")
    store = SqlResults(connection)
    store.claim("a", 5)
    connection.execute("UPDATE fencepost_result SET token = 'x'")
    connection.commit()
    attempts: tuple[Callable[[], object], ...] = (
        lambda: store.find("a"),
        lambda: store.claim("a", 6),
        lambda: store.keep("a", 6, "1", None),
    )
    for attempt in attempts:
        with pytest.raises(Refused, match="the mark of 'a' is no token"):
            attempt()
    connection.close()


def test_marks_in_redis_do_not_stay_for_ever() -> None:
    command(shared_server(), "FLUSHALL")
    client = redis.Redis(port=shared_server())
    store = RedisResults(client)
    store.claim("a", 5)
    store.keep("a", 5, "1", 60.0)
    assert all(client.pttl(key) > 0 for key in client.keys("*"))
    client.close()


# Once


def test_the_second_gets_the_result_of_the_first(session: fencepost.Session, store: Results) -> None:
    first, second = Counted({"total": 5, "rows": (1, 2)}), Counted("never")
    assert session.once("charge/42", store=store).run(first) == {"total": 5, "rows": [1, 2]}
    assert session.once("charge/42", store=store).run(second) == {"total": 5, "rows": [1, 2]}
    assert (first.times, second.times) == (1, 0)
    assert session.once("charge/43", store=store).run(second) == "never"


def test_a_result_of_none_counts(session: fencepost.Session) -> None:
    work = Counted(None)
    assert session.once("a").run(work) is session.once("a").run(work) is None
    assert work.times == 1


def test_failed_work_may_be_retried(session: fencepost.Session, store: Results) -> None:
    with pytest.raises(ZeroDivisionError):
        session.once("a", store=store).run(Counted(ZeroDivisionError()))
    assert session.once("a", store=store).run(Counted("second")) == "second"


def test_an_expired_result_is_made_again(session: fencepost.Session) -> None:
    once = session.once("a", expires_in=0.05)
    work = Counted()
    once.run(work)
    until(lambda: once.run(work) and work.times == 2)


def test_as_a_decorator_the_key_names_arguments(session: fencepost.Session) -> None:
    done: list[tuple[int, int]] = []

    @session.once("charge/{order}")
    def charge(order: int, amount: int = 5) -> str:
        done.append((order, amount))
        return f"charged {amount}"

    assert charge.__name__ == "charge"
    assert [charge(1), charge(order=1, amount=9), charge(2)] == ["charged 5", "charged 5", "charged 5"]
    assert done == [(1, 5), (2, 5)]


def test_whoever_comes_meanwhile_waits_for_the_first_ones_result(session: fencepost.Session) -> None:
    begun, go_on = threading.Event(), threading.Event()
    results: list[str] = []

    def slow() -> str:
        begun.set()
        go_on.wait(60)
        return "first"

    threads = [threading.Thread(target=lambda: results.append(session.once("a").run(slow)))]
    threads[0].start()
    begun.wait(60)
    threads += [threading.Thread(target=lambda: results.append(session.once("a").run(Counted("x")))) for _ in range(3)]
    for thread in threads[1:]:
        thread.start()
    until(lambda: len(session.look("once/a").waiters) == 3)
    with pytest.raises(AcquireTimeout):
        session.once("a", timeout=0).run(Counted("x"))
    go_on.set()
    for thread in threads:
        thread.join()
    assert results == ["first"] * 4


def test_a_worker_that_is_overtaken_is_told(session: fencepost.Session) -> None:
    store = MemoryResults()

    def slow() -> str:
        store.claim("once/a", 2**62)  # somebody newer, at another lease
        return "late"

    with pytest.raises(Stale):
        session.once("a", store=store).run(slow)
    assert store.find("once/a") is None


def test_a_result_that_the_store_took_counts_though_the_lock_was_lost_just_then(session: fencepost.Session) -> None:
    class Losing(MemoryResults):
        def keep(self, *args: Any) -> None:
            super().keep(*args)
            session.keeper().lose("told so by the test")

    assert session.once("a", store=Losing()).run(Counted("kept")) == "kept"


def test_a_result_that_was_found_counts_though_the_lock_was_lost_just_then(session: fencepost.Session) -> None:
    class Quicker(MemoryResults):
        """Somebody else's result comes between the first look and the lock, which is lost at once."""

        def claim(self, name: str, grant: Any) -> str | None:
            super().keep(name, grant, '"theirs"', None)
            session.keeper().lose("told so by the test")
            return super().claim(name, grant)

    work = Counted("ours")
    assert session.once("a", store=Quicker()).run(work) == "theirs"
    assert work.times == 0


def test_work_and_result_are_one_transaction_where_asked_to(session: fencepost.Session, tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "shop.db")
    connection.execute("CREATE TABLE orders (id INTEGER)")
    store = SqlResults(connection, together=True)

    def work(fails: bool) -> Callable[[], str]:
        def insert() -> str:
            connection.execute("INSERT INTO orders VALUES (1)")
            if fails:
                raise ZeroDivisionError
            return "inserted"

        return insert

    def overtaken() -> str:
        connection.execute("INSERT INTO orders VALUES (1)")
        connection.execute("UPDATE fencepost_result SET token = token + 1")
        return "late"

    for bad, error in ((work(True), ZeroDivisionError), (overtaken, Stale)):
        with pytest.raises(error):
            session.once("a", store=store).run(bad)
        assert connection.execute("SELECT count(*) FROM orders").fetchone() == (0,)
    for _ in range(2):
        assert session.once("a", store=store).run(work(False)) == "inserted"
    assert connection.execute("SELECT count(*) FROM orders").fetchone() == (1,)
    connection.execute("BEGIN")
    with pytest.raises(FencepostError, match="one is open already"):
        session.once("b", store=store).run(work(False))
    connection.close()


ENDINGS: dict[str, Callable[[sqlite3.Connection], object]] = {
    "commit": sqlite3.Connection.commit,
    "rollback": sqlite3.Connection.rollback,
    "script": lambda connection: connection.executescript("INSERT INTO orders VALUES (2)"),
}


@pytest.mark.parametrize("again", [False, True], ids=["", "begins again"])
@pytest.mark.parametrize("ending", ENDINGS)
def test_work_that_ends_the_transaction_of_its_result_is_told_so(
    session: fencepost.Session, tmp_path: Path, ending: str, again: bool
) -> None:
    """Its result is not kept: what stands there was not done together with it, and may not stand at all."""
    connection = sqlite3.connect(tmp_path / "shop.db")
    connection.execute("CREATE TABLE orders (id INTEGER)")
    store = SqlResults(connection, together=True)

    def work() -> str:
        connection.execute("INSERT INTO orders VALUES (1)")
        ENDINGS[ending](connection)
        if again:
            connection.execute("INSERT INTO orders VALUES (3)")
        return "done"

    with pytest.raises(FencepostError, match="the work ended the transaction"):
        session.once("a", store=store).run(work)
    assert not connection.in_transaction
    assert connection.execute("SELECT count(*) FROM orders WHERE id = 3").fetchone() == (0,)
    assert store.find("once/a") is None
    connection.close()


def test_work_that_commits_and_is_overtaken_is_not_told_that_it_was_undone(
    session: fencepost.Session, tmp_path: Path
) -> None:
    connection = sqlite3.connect(tmp_path / "shop.db")
    connection.execute("CREATE TABLE orders (id INTEGER)")

    def work() -> str:
        connection.execute("INSERT INTO orders VALUES (1)")
        connection.commit()
        connection.execute("UPDATE fencepost_result SET token = token + 1")
        connection.commit()
        return "late"

    with pytest.raises(FencepostError, match="the work ended the transaction") as told:
        session.once("a", store=SqlResults(connection, together=True)).run(work)
    assert not isinstance(told.value, Stale)
    connection.close()


def test_a_block_of_work_that_commits_behind_its_result_is_told_so(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "shop.db")
    store = SqlResults(connection, together=True)
    store.claim("a", 7)
    with pytest.raises(FencepostError, match="the work ended the transaction"), store.work():
        store.keep("a", 7, '"done"', None)
        connection.commit()
    connection.close()


@pytest.mark.parametrize("kind", [PostgresqlPlace, AutocommitPlace, DjangoPlace, SqlalchemyPlace, MariadbPlace])
def test_work_that_commits_in_a_database_of_a_server_is_told_so(
    session: fencepost.Session, tmp_path: Path, kind: type[DatabasePlace]
) -> None:
    place = kind(tmp_path)
    connection = place.connect()
    store = SqlResults(connection, together=True)
    once = session.once("a", store=store)
    with pytest.raises(FencepostError, match="the work ended the transaction"):
        once.run(lambda: place.statement(connection, "COMMIT"))
    assert store.find("once/a") is None
    place.commit(connection)
    assert once.run(lambda: "done") == "done"
    place.close()


def test_results_beside_the_embedded_engine_outlive_sessions(tmp_path: Path) -> None:
    url, work = f"sqlite://{tmp_path}/locks.db", Counted()
    for _ in range(2):
        with fencepost.connect(url) as session:
            session.once("a").run(work)
    assert work.times == 1
    assert (tmp_path / "locks.db-once").stat().st_mode & 0o777 == 0o600


def test_where_only_the_user_can_know_a_place_it_must_be_named() -> None:
    session = fencepost.connect(f"redis://127.0.0.1:{shared_server()}")
    with pytest.raises(ValueError, match="say where results are kept: store="):
        session.once("a")
    session.close()


# Asynchronous


async def test_tasks_wait_for_the_first_ones_result() -> None:
    times = 0

    async def work() -> int:
        nonlocal times
        times += 1
        await asyncio.sleep(0.01)
        return times

    async with fencepost.connect_async("memory://") as session:
        assert await asyncio.gather(*(session.once("a").run(work) for _ in range(5))) == [1] * 5
        with fencepost.connect("memory://") as blocking:
            assert blocking.once("a").run(lambda: -1) == 1

        @session.once("b/{number}", store=AsyncMemoryResults())
        async def double(number: int) -> int:
            return 2 * number

        assert [await double(2), await double(3)] == [4, 6]


async def test_a_cancelled_worker_leaves_nothing_and_the_next_one_works(tmp_path: Path) -> None:
    import aiosqlite

    async with (
        aiosqlite.connect(tmp_path / "shop.db") as connection,
        fencepost.connect_async("memory://cancelled") as session,
    ):
        await connection.execute("CREATE TABLE orders (id INTEGER)")
        begun = asyncio.Event()

        async def hang() -> None:
            await connection.execute("INSERT INTO orders VALUES (1)")
            begun.set()
            await asyncio.sleep(60)

        async def count() -> Any:
            return await (await connection.execute("SELECT count(*) FROM orders")).fetchone()

        once = session.once("a", store=AsyncSqlResults(connection, together=True))
        task = asyncio.create_task(once.run(hang))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await once.run(count) == [0]


# Processes


def do_when_told(folder: Path, ttl: float, pipe: Connection) -> None:
    """Begin the work, say so, and go on when told; report what came of it."""
    with fencepost.connect(f"sqlite://{folder}/locks.db", ttl=ttl) as session:

        def work() -> str:
            pipe.send("begun")
            return str(pipe.recv())

        try:
            pipe.send(session.once("a").run(work))
        except FencepostError as error:
            pipe.send(type(error).__name__)


def test_a_killed_worker_is_replaced(tmp_path: Path, session: fencepost.Session) -> None:
    with started(do_when_told, tmp_path, 60.0) as (process, pipe):
        assert pipe.recv() == "begun"
        process.kill()
        process.join()
    assert session.once("a", timeout=30).run(lambda: "second") == "second"


def test_a_worker_stopped_past_its_lease_can_not_commit(tmp_path: Path, session: fencepost.Session) -> None:
    # If the lease ends before the stop, its end is told from within, and the same must come of it.
    with started(do_when_told, tmp_path, 1.0) as (process, pipe):
        assert pipe.recv() == "begun"
        stop(process)
        pipe.send("late")
        assert session.once("a", timeout=30).run(lambda: "second") == "second"
        resume(process)
        assert pipe.recv() in ("Stale", "Lost")
    assert json.loads(FileResults(tmp_path / "locks.db-once").find("once/a") or "") == "second"
