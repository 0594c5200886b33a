"""Other clients on the same locks: kazoo in all its modes, and Curator itself."""

import shutil
import subprocess
import threading
import uuid
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import fencepost
from fencepost.testing.condition import until
from fencepost.testing.zookeeper import shared_server
from tests.support.zookeeper.observer import Observer

LASTING = 60.0
# For what comes within seconds, on a machine that is busy with something else.
PATIENCE = 60.0
CURATOR = Path(__file__).parents[2] / "support/zookeeper/curator"


@pytest.fixture
def folder() -> str:
    return uuid.uuid4().hex


@pytest.fixture
def observer() -> Iterator[Observer]:
    with Observer(shared_server()) as observer:
        yield observer


@pytest.fixture
def url(folder: str) -> str:
    return f"zookeeper://127.0.0.1:{shared_server().port}/{folder}"


def test_kazoo_stands_in_one_line_with_us(observer: Observer, url: str, folder: str) -> None:
    order: list[str] = []
    with fencepost.connect(url, ttl=LASTING, holder="ours") as session:
        held = session.lock("a").acquire()
        theirs: Any = observer.client.Lock(f"/{folder}/a", "theirs")

        def take_theirs() -> None:
            theirs.acquire()
            order.append("theirs")
            theirs.release()

        def take_ours() -> None:
            with session.lock("a", timeout=PATIENCE):
                order.append("ours")

        def stand(count: int) -> bool:
            return len(observer.nodes(f"/{folder}/a")) == count

        threads = []
        for number, take in enumerate((take_theirs, take_ours)):
            threads.append(threading.Thread(target=take))
            threads[-1].start()
            until(partial(stand, number + 2))
        assert [each.claim.holder.label for each in session.look("a").waiters] == ["theirs", "ours"]
        held.release()
        for thread in threads:
            thread.join(PATIENCE)
    assert order == ["theirs", "ours"]


def test_kazoo_sees_who_of_us_contends(observer: Observer, url: str, folder: str) -> None:
    with fencepost.connect(url, ttl=LASTING, holder="web-3") as session, session.lock("a"):
        (contender,) = observer.client.Lock(f"/{folder}/a").contenders()
        assert "web-3" in contender


def test_our_readers_exclude_kazoos_lock_and_its_writers(observer: Observer, url: str, folder: str) -> None:
    client = observer.client
    with fencepost.connect(url, ttl=LASTING) as session, session.rwlock("a").read():
        assert not client.Lock(f"/{folder}/a").acquire(blocking=False)
        assert not client.WriteLock(f"/{folder}/a").acquire(blocking=False)


def test_kazoos_readers_go_with_our_readers_and_exclude_our_writers(observer: Observer, url: str, folder: str) -> None:
    reader = observer.client.ReadLock(f"/{folder}/a")
    assert reader.acquire()
    with fencepost.connect(url, ttl=LASTING) as session:
        assert session.rwlock("a").write().try_acquire() is None
        with session.rwlock("a").read():
            pass
        reader.release()
        with session.rwlock("a").write():
            pass


def test_kazoos_reader_waits_for_a_writer_of_ours_that_went_on_as_a_reader(
    observer: Observer, url: str, folder: str
) -> None:
    theirs: Any = observer.client.ReadLock(f"/{folder}/a")
    with fencepost.connect(url, ttl=LASTING) as session:
        written = session.rwlock("a").write().acquire()
        waiter = threading.Thread(target=theirs.acquire)
        waiter.start()
        until(lambda: session.look("a").waiters)
        session.rwlock("a").downgrade(written)
        # To us theirs is a reader, who holds up nobody.
        with session.rwlock("a", timeout=PATIENCE).read():
            assert not theirs.is_acquired
        written.release()
        waiter.join(PATIENCE)
        assert theirs.is_acquired
        assert session.rwlock("a").write().try_acquire() is None
        theirs.release()


def test_a_neighbour_can_be_evicted(observer: Observer, url: str, folder: str) -> None:
    theirs = observer.client.Lock(f"/{folder}/a", "theirs")
    theirs.acquire()
    with fencepost.connect(url, ttl=LASTING, holder="operator") as session:
        (taken,) = session.evict("a")
        assert taken.holder.label == "theirs"
        assert session.look("a").evictions[0].by == "operator"
        with session.lock("a", timeout=0) as grant:
            assert grant.token > (taken.token or 0)


class Mutex:
    """Curator's `InterProcessMutex` in a process of its own."""

    def __init__(self, jars: Path, path: str) -> None:
        where = f"127.0.0.1:{shared_server().port}"
        command = ["java", "-cp", f"{jars}/*", str(CURATOR / "Mutex.java"), where, path]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        assert self._hear() == "ready"

    def ask(self, order: str) -> str:
        assert self._process.stdin is not None
        self._process.stdin.write(order + "\n")
        self._process.stdin.flush()
        return self._hear()

    def _hear(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()


@pytest.fixture(scope="module")
def jars(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Curator, from wherever Maven gets it."""
    if shutil.which("mvn") is None or shutil.which("javac") is None:
        pytest.skip("mvn or javac is missing: apt-get install maven default-jdk-headless")
    target = tmp_path_factory.mktemp("curator")
    copy = [
        "mvn",
        "-q",
        "-B",
        "-f",
        str(CURATOR / "pom.xml"),
        "dependency:copy-dependencies",
        f"-DoutputDirectory={target}",
    ]
    for how in (["-o"], []):
        if subprocess.run([*copy, *how], capture_output=True, timeout=200).returncode == 0:
            return target
    pytest.skip("Maven can not get Curator here")


@pytest.fixture
def mutex(jars: Path, folder: str) -> Iterator[Mutex]:
    mutex = Mutex(jars, f"/{folder}/a")
    yield mutex
    mutex.close()


@pytest.mark.slow
@pytest.mark.timeout(500)
def test_curators_mutex_excludes_us_and_we_it(mutex: Mutex, url: str) -> None:
    with fencepost.connect(f"{url}?recipe=curator", ttl=LASTING) as session:
        with session.lock("a") as grant:
            assert mutex.ask("try") == "false"
        assert mutex.ask("try") == "true"
        assert session.lock("a").try_acquire() is None
        assert mutex.ask("release") == "released"
        with session.lock("a", timeout=0) as again:
            assert again.token > grant.token
        with session.rwlock("a").read():
            assert mutex.ask("try") == "false"
        with session.rwlock("a").write() as written:
            session.rwlock("a").downgrade(written)
            assert mutex.ask("try") == "false"


@pytest.mark.slow
@pytest.mark.timeout(500)
def test_we_and_curators_mutex_wake_each_other(mutex: Mutex, url: str) -> None:
    with fencepost.connect(f"{url}?recipe=curator", ttl=LASTING) as session:
        assert mutex.ask("try") == "true"
        taken: list[fencepost.Grant] = []
        waiter = threading.Thread(target=lambda: taken.append(session.lock("a").acquire(timeout=PATIENCE)))
        waiter.start()
        until(lambda: session.look("a").waiters)
        mutex.ask("release")
        waiter.join(PATIENCE)
        releasing = threading.Timer(0.1, taken[0].release)
        releasing.start()
        assert mutex.ask("wait") == "true"
        releasing.join()


def test_the_layout_of_curators_mutex_is_understood_without_it(observer: Observer, url: str, folder: str) -> None:
    with fencepost.connect(f"{url}?recipe=curator", ttl=LASTING) as session:
        session.lock("a").acquire().release()
        node = observer.client.create(
            f"/{folder}/a/_c_{uuid.uuid4()}-lock-", b"10.0.0.1", ephemeral=True, sequence=True, makepath=True
        )
        assert session.lock("a").try_acquire() is None
        assert session.look("a").holders[0].claim.holder.label == "10.0.0.1"
        observer.client.delete(node)
        with session.lock("a", timeout=0):
            (ours,) = observer.nodes(f"/{folder}/a")
            # What Curator orders contenders by is what comes after the last 'lock-'.
            assert ours.rpartition("lock-")[2].isdecimal()
