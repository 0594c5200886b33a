"""Addresses, users, certificates, names and neighbours."""

import asyncio
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import fencepost
from fencepost import Refused, Unavailable
from fencepost.contract.answer import Cell, Granted, Queued
from fencepost.core.claim import Ask
from fencepost.drivers.etcd import request
from fencepost.engines.etcd._sync.engine import EtcdEngine
from fencepost.engines.etcd.key import lease_of
from fencepost.testing.condition import until
from fencepost.testing.etcd import client, etcd_server, etcdctl, port_of, serves
from fencepost.testing.port import free_port
from tests.support.engine import cells_of, engine_as

from .conftest import KINDS

ROOT = ("--user", "root:secret")
LASTING = 60.0
# For what comes within a second, on a machine that is busy with something else.
PATIENCE = 60.0
# Long enough for a neighbour that is not kept out to come in; if it is slower, nothing is found out.
MOMENT = 0.1
# No session makes such a one: its notes are shorter.
TOO_LARGE = Ask("a", note="x" * 2_200_000)


def run_etcdctl(port: int, *words: str) -> str:
    talk = etcdctl("--endpoints", f"http://127.0.0.1:{port}", *words)
    said, _ = talk.communicate(timeout=PATIENCE)
    assert talk.returncode == 0, said
    return said


def test_a_lease_is_never_shorter_at_the_server_than_here(url: str, port: int) -> None:
    """There it has whole seconds."""
    with fencepost.connect(url, ttl=59.1) as session:
        said = run_etcdctl(port, "lease", "timetolive", f"{lease_of(session.keeper().holder):x}")
        assert "granted with TTL(60s)" in said


# Names and keys


def test_a_lock_has_the_key_that_gos_mutex_would_have(url: str) -> None:
    with fencepost.connect(url, ttl=LASTING) as session, session.lock("orders/42") as grant:
        speaker = client(url=url)
        (pair,) = speaker.read(request.select(b"orders/42/", b"orders/420")).pairs
        speaker.close()
        assert pair.key == b"orders/42/%x" % pair.lease
        assert pair.created == grant.token


def test_a_name_and_longer_names_that_start_with_it_are_different_locks(url: str) -> None:
    with (
        fencepost.connect(url, ttl=LASTING) as first,
        fencepost.connect(url, ttl=LASTING) as second,
        first.lock("orders/42"),
    ):
        outer = second.lock("orders").acquire(timeout=PATIENCE)
        assert second.lock("orders/42").try_acquire() is None
        assert first.lock("orders").try_acquire() is None
        inner = second.lock("orders/42/lines").try_acquire()
        assert inner is not None
        assert list(first.names("orders")) == ["orders", "orders/42", "orders/42/lines"]
        waiting: list[fencepost.Grant] = []
        waiter = threading.Thread(target=lambda: waiting.append(first.lock("orders").acquire(timeout=PATIENCE)))
        waiter.start()
        until(lambda: second.look("orders").waiters)
        inner.release()
        assert waiting == []
        outer.release()
        waiter.join(PATIENCE)
        assert waiting[0].token > outer.token


def test_keys_that_are_no_locks_are_in_nobodys_way(port: int, url: str) -> None:
    run_etcdctl(port, "put", "config/limit", "5")
    run_etcdctl(port, "put", "config/abc", "6")
    run_etcdctl(port, "put", "config/0", "7")
    with fencepost.connect(url, ttl=LASTING) as session:
        assert session.evict("config") == ()
        assert session.lock("config").try_acquire() is not None
        with session.lock("config/limit"):
            assert list(session.names()) == ["config", "config/limit"]


def test_the_prefix_keeps_locks_apart(url: str) -> None:
    with (
        fencepost.connect(f"{url}?prefix=blue/", ttl=LASTING) as blue,
        fencepost.connect(f"{url}?prefix=green/", ttl=LASTING) as green,
    ):
        blue.lock("a").acquire()
        with green.lock("a"):
            assert list(blue.names()) == ["a"]
            blue.evict("a")
            assert [each.evicted for each in blue.look("a").evictions] == [blue.label]
            assert green.look("a").evictions == ()
            assert green.look("a").holders


def test_a_lock_taken_again_and_again_uses_one_key(url: str) -> None:
    """etcd walks over every key that ever was: a key of its own for each grant would make each slower than the last."""
    with fencepost.connect(url, ttl=LASTING) as session:
        keys: set[bytes] = set()
        for _ in range(50):
            with session.lock("a"):
                speaker = client(url=url)
                keys.update(pair.key for pair in speaker.read(request.select(b"a/", b"a0")).pairs)
                speaker.close()
        assert len(keys) == 1


# Neighbours


def test_etcdctl_and_we_stand_in_one_queue(port: int, url: str) -> None:
    with fencepost.connect(url, ttl=LASTING, holder="we") as session:
        held = session.lock("a").acquire()
        theirs = etcdctl("--endpoints", f"http://127.0.0.1:{port}", "lock", "a", "echo", "theirs")
        until(lambda: len(session.look("a").waiters) == 1)
        taken: list[fencepost.Grant] = []
        behind = threading.Thread(target=lambda: taken.append(session.lock("a").acquire(timeout=PATIENCE)))
        behind.start()
        until(lambda: len(session.look("a").waiters) == 2)
        assert [each.claim.holder.label[:10] for each in session.look("a").waiters] == ["etcd lease", "we"]
        held.release()
        said, _ = theirs.communicate(timeout=PATIENCE)
        assert said.strip() == "theirs"
        behind.join(PATIENCE)
        assert taken[0].token > held.token


def test_a_reader_waits_for_a_neighbour_and_a_neighbour_for_readers(port: int, url: str) -> None:
    with fencepost.connect(url, ttl=LASTING) as session:
        readers = [session.rwlock("a").read().acquire(timeout=0) for _ in range(2)]
        theirs = etcdctl("--endpoints", f"http://127.0.0.1:{port}", "lock", "a", "echo", "theirs")
        until(lambda: len(session.look("a").waiters) == 1)
        assert session.rwlock("a").read().try_acquire() is None
        readers[0].release()
        assert theirs.poll() is None
        readers[1].release()
        said, _ = theirs.communicate(timeout=PATIENCE)
        assert said.strip() == "theirs"


def test_a_neighbour_waits_for_a_writer_that_went_on_as_a_reader_and_for_whoever_joined_it(port: int, url: str) -> None:
    with fencepost.connect(url, ttl=LASTING) as session:
        rwlock = session.rwlock("a")
        written = rwlock.write().acquire()
        rwlock.downgrade(written)
        read = rwlock.read().acquire(timeout=PATIENCE)
        theirs = etcdctl("--endpoints", f"http://127.0.0.1:{port}", "lock", "a", "echo", "theirs")
        until(lambda: len(session.look("a").waiters) == 1)
        assert rwlock.read().try_acquire() is None
        for grant in (read, written):
            time.sleep(MOMENT)
            assert theirs.poll() is None
            grant.release()
        said, _ = theirs.communicate(timeout=PATIENCE)
        assert said.strip() == "theirs"


def test_a_holder_that_goes_on_as_a_reader_lets_nobody_in_before_a_neighbour(port: int, url: str) -> None:
    with fencepost.connect(url, ttl=LASTING) as session:
        rwlock = session.rwlock("a")
        written = rwlock.write().acquire()
        theirs = etcdctl("--endpoints", f"http://127.0.0.1:{port}", "lock", "a", "echo", "theirs")
        until(lambda: len(session.look("a").waiters) == 1)
        rwlock.downgrade(written)
        assert rwlock.read().try_acquire() is None
        time.sleep(MOMENT)
        assert theirs.poll() is None
        written.release()
        said, _ = theirs.communicate(timeout=PATIENCE)
        assert said.strip() == "theirs"


# Addresses


@pytest.mark.unit
def test_addresses_that_can_not_be_meant_are_refused_at_once() -> None:
    for url, words in {
        "etcd://user@127.0.0.1": "both a user and a password",
        "etcd://127.0.0.1?ca=/x": "unknown option 'ca'",
        "etcd://127.0.0.1?unknown=1": "unknown option 'unknown'",
        "etcds://127.0.0.1?ca=/missing": "can not be read",
    }.items():
        with pytest.raises(ValueError, match=words):
            fencepost.connect(url)
    with pytest.raises(ValueError, match="use 1 s or more"):
        fencepost.connect("etcd://127.0.0.1", ttl=0.5)


@pytest.mark.parametrize("flavour", ["sync", "async"])
async def test_members_that_are_down_are_passed_over(url: str, flavour: str) -> None:
    down = f"127.0.0.1:{free_port()}"
    address = f"etcd://{down},{url.removeprefix('etcd://')},{down}"
    if flavour == "sync":
        with fencepost.connect(address, ttl=LASTING) as session, session.lock("a") as grant:
            assert grant.held
    else:
        async with fencepost.connect_async(address, ttl=LASTING) as asession, asession.lock("a") as agrant:
            assert agrant.held


@pytest.mark.parametrize("flavour", ["sync", "async"])
async def test_a_server_that_is_no_etcd_is_unavailable(flavour: str) -> None:
    from fencepost.testing.redis import shared_server as redis

    address = f"etcd://127.0.0.1:{redis()}"
    if flavour == "sync":
        with pytest.raises(Unavailable), fencepost.connect(address, ttl=LASTING) as session:
            session.lock("a").acquire(timeout=0)
    else:
        with pytest.raises(Unavailable):
            async with fencepost.connect_async(address, ttl=LASTING) as asession:
                await asession.lock("a").acquire(timeout=0)


# Users and certificates


@pytest.fixture(scope="module")
def guarded() -> Iterator[int]:
    """The port of a server with users: root, and one that may use the locks under `app/`."""
    with etcd_server() as server:
        port = port_of(server)
        run_etcdctl(port, "user", "add", "root:secret")
        run_etcdctl(port, "user", "grant-role", "root", "root")
        run_etcdctl(port, "role", "add", "locker")
        run_etcdctl(port, "role", "grant-permission", "locker", "readwrite", "app/", "--prefix=true")
        run_etcdctl(port, "user", "add", "user:p%40ss")
        run_etcdctl(port, "user", "grant-role", "user", "locker")
        run_etcdctl(port, "auth", "enable")
        yield port


@pytest.mark.parametrize("flavour", ["sync", "async"])
async def test_a_user_with_rights_to_a_prefix_can_lock_below_it(guarded: int, flavour: str) -> None:
    url = f"etcd://user:p%2540ss@127.0.0.1:{guarded}?prefix=app/"
    if flavour == "sync":
        with fencepost.connect(url, ttl=LASTING) as first, fencepost.connect(url, ttl=LASTING) as second:
            held = first.lock("a").acquire()
            taken: list[fencepost.Grant] = []
            waiter = threading.Thread(target=lambda: taken.append(second.lock("a").acquire(timeout=PATIENCE)))
            waiter.start()
            until(lambda: first.look("a").waiters)
            held.release()
            waiter.join(PATIENCE)
            assert taken[0].token > held.token
            assert list(first.names()) == ["a"]
            first.evict("a")
    else:
        async with fencepost.connect_async(url, ttl=LASTING) as asession, asession.lock("a") as grant:
            assert grant.held
            assert await asession.lock("a").try_acquire() is None


def test_whoever_is_not_let_in_is_told_what_to_change(guarded: int) -> None:
    for url, words in {
        f"etcd://127.0.0.1:{guarded}": "give a user and password",
        f"etcd://user:wrong@127.0.0.1:{guarded}": "check the user and password",
        f"etcd://user:p%2540ss@127.0.0.1:{guarded}?prefix=other/": "permission denied",
    }.items():
        with pytest.raises(Refused, match=words), fencepost.connect(url, ttl=LASTING) as session:
            session.lock("a").acquire(timeout=0)


def test_a_token_that_is_not_valid_any_more_is_replaced(guarded: int) -> None:
    """As when the rights change, or the server forgets its tokens."""
    with fencepost.connect(f"etcd://user:p%2540ss@127.0.0.1:{guarded}?prefix=app/", ttl=LASTING) as session:
        session.lock("a").acquire().release()
        run_etcdctl(guarded, *ROOT, "role", "grant-permission", "locker", "read", "elsewhere")
        session.lock("a").acquire().release()
        engine_as(session, EtcdEngine)._client.link.endpoints.token = "invalid"
        engine_as(session, EtcdEngine)._client.link.clear()
        session.lock("a").acquire().release()


@pytest.fixture
def changing() -> Iterator[int]:
    """The port of a server with users, whose tokens are all old after any change of users."""
    folder = Path(tempfile.mkdtemp(prefix="fencepost-jwt-"))
    private, public = folder / "private.pem", folder / "public.pem"
    for words in (("genrsa", "-out", private, "2048"), ("rsa", "-in", private, "-pubout", "-out", public)):
        subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True)
    token = f"jwt,pub-key={public},priv-key={private},sign-method=RS256,ttl=10m"
    with etcd_server("--auth-token", token) as server:
        port = port_of(server)
        run_etcdctl(port, "user", "add", "root:secret")
        run_etcdctl(port, "user", "grant-role", "root", "root")
        run_etcdctl(port, "auth", "enable")
        yield port


def test_who_begins_to_wait_after_the_users_have_changed_is_told_of_its_turn(changing: int) -> None:
    url = f"etcd://root:secret@127.0.0.1:{changing}"
    with fencepost.connect(url, ttl=LASTING) as first, fencepost.connect(url, ttl=LASTING) as second:
        held = {name: first.lock(name).acquire() for name in "abc"}
        engine, cells = second.engine, cells_of(second)
        # It listens already, as whom it said it was then.
        places = [engine.claim(second.keeper().request((Ask("a"),)), wait=True)]
        cells.watch("cell", 0, 0.01)
        run_etcdctl(changing, *ROOT, "user", "add", "another:secret")
        places += [engine.claim(second.keeper().request((Ask(name),)), wait=True) for name in "bc"]
        for name, place in zip("abc", places, strict=True):
            assert isinstance(place, Queued)
            held[name].release()
            assert isinstance(engine.wait(place, PATIENCE), Granted)
        with pytest.raises(Unavailable):
            cells.watch("cell", 0, PATIENCE)
        seen: list[Cell] = []
        watcher = threading.Thread(target=lambda: seen.append(cells.watch("cell", 0, PATIENCE)))
        watcher.start()
        cells_of(first).write("cell", "value", 0)
        watcher.join(PATIENCE)
        assert seen[0].value == "value"


def test_a_request_that_is_too_large_is_refused_and_in_nobody_s_way(url: str) -> None:
    with fencepost.connect(url, ttl=LASTING) as session:
        session.lock("a").acquire().release()
        with pytest.raises(Refused, match="larger than max"):
            fencepost.Lock(session, TOO_LARGE).acquire(timeout=PATIENCE)
        session.lock("a").acquire(timeout=PATIENCE).release()


async def test_a_request_that_is_too_large_is_refused_and_keeps_no_other_back(url: str) -> None:
    async with fencepost.connect_async(url, ttl=LASTING) as session:
        held = await session.lock("b").acquire()
        with pytest.raises(Refused, match="larger than max"):
            await fencepost.AsyncLock(session, TOO_LARGE).acquire(timeout=PATIENCE)
        await session.lock("a").acquire(timeout=PATIENCE)
        await held.release()


def test_a_server_that_asks_for_our_certificate_is_shown_it() -> None:
    folder = Path(tempfile.mkdtemp(prefix="fencepost-tls-"))
    authority, certificate, key = folder / "ca.crt", folder / "both.crt", folder / "both.key"
    _make_certificates(folder)
    options: tuple[str, ...] = ("--cert-file", str(certificate), "--key-file", str(key))
    port = free_port()
    url = f"etcds://127.0.0.1:{port}?ca={authority}&cert={certificate}&key={key}"
    options += ("--client-cert-auth", "--trusted-ca-file", str(authority))
    server = etcd_server(*options, port=port)
    server._ready = lambda _: serves(url)
    with server:
        with fencepost.connect(url, ttl=LASTING) as session, session.lock("a") as grant:
            assert grant.held
        for wary in (f"etcds://127.0.0.1:{port}?ca={authority}", f"etcds://127.0.0.1:{port}"):
            with pytest.raises(Refused, match="certificate"), fencepost.connect(wary, ttl=LASTING):
                pass


def _make_certificates(folder: Path) -> None:
    """An authority, and a certificate that it has signed for 127.0.0.1, for both sides."""

    def openssl(*words: str) -> None:
        subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)

    curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2")
    openssl("req", "-x509", *curve, "-subj", "/CN=authority", "-keyout", "ca.key", "-out", "ca.crt")
    (folder / "names").write_text("subjectAltName=IP:127.0.0.1\nextendedKeyUsage=serverAuth,clientAuth\n")
    openssl("req", *curve[:-2], "-subj", "/CN=both", "-keyout", "both.key", "-out", "both.csr")
    signed = ("-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2", "-extfile", "names")
    openssl("x509", "-req", "-in", "both.csr", *signed, "-out", "both.crt")


# Versions


@pytest.fixture(scope="module", params=KINDS)
def each(request: pytest.FixtureRequest) -> Iterator[str]:
    with etcd_server(binary=KINDS[request.param]()) as server:
        yield f"etcd://127.0.0.1:{port_of(server)}"


@pytest.mark.slow
@pytest.mark.parametrize("flavour", ["sync", "async"])
async def test_each_etcd_that_is_here_locks_waits_and_hands_over(each: str, flavour: str) -> None:
    with fencepost.connect(each, ttl=LASTING, holder="first") as first:
        held = first.lock("a").acquire()
        if flavour == "sync":
            with fencepost.connect(each, ttl=LASTING, holder="second") as second:
                taken: list[int] = []
                waiter = threading.Thread(target=lambda: taken.append(second.lock("a").acquire(timeout=PATIENCE).token))
                waiter.start()
                until(lambda: first.look("a").waiters)
                held.release()
                waiter.join(PATIENCE)
                assert taken[0] > held.token
                with second.lock("b/c"):
                    assert list(first.names()) == ["a", "b/c"]
                assert [claim.token for claim in first.evict("a")] == taken
        else:
            async with fencepost.connect_async(each, ttl=LASTING, holder="second") as asecond:
                task = asyncio.create_task(asecond.lock("a").acquire(timeout=PATIENCE))
                await asyncio.to_thread(until, lambda: first.look("a").waiters)
                held.release()
                assert (await task).token > held.token
