"""The state file and its gate: made, deleted, replaced, damaged, out of reach."""

import os
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

import fencepost
from fencepost._runtime import threads
from fencepost.contract.answer import Gone, Renewal
from fencepost.core.url import Url, parse_url
from fencepost.engines.sqlite import gate
from fencepost.engines.sqlite._sync.engine import Engine
from fencepost.engines.sqlite.origin import APPLICATION, check_origin
from fencepost.engines.sqlite.store import Store
from fencepost.errors import FencepostWarning, Refused, Unavailable
from tests.engines.sqlite.conftest import MakeUser
from tests.support.sqlite.shut import shut_gate

pytestmark = pytest.mark.unit


# What somebody may have at a path that is mistyped.
THEIRS = {
    "text": b"what they wrote " * 100,
    "short text": b"x",
    "zeros": bytes(4096),
    "database": None,
    "torn database": b"SQLite format 3\0" + b"torn" * 1000,
}


def put(path: Path, contents: bytes | None) -> None:
    """None is a database."""
    path.unlink(missing_ok=True)
    path.parent.mkdir(exist_ok=True)
    if contents is not None:
        path.write_bytes(contents)
        return
    with closing(sqlite3.connect(path)) as theirs, theirs:
        theirs.execute("CREATE TABLE customer (name TEXT)")


def damage(path: Path) -> None:
    """Behind the header, by which it is known."""
    with path.open("r+b") as file:
        file.seek(1024)
        file.write(b"damage" * 1000)


def reboot(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other_boot = folder / "boot_id"
    other_boot.write_text("11111111-2222-3333-4444-555555555555\n")
    monkeypatch.setattr(gate, "BOOT_ID", other_boot)


def test_after_the_state_file_was_deleted_the_old_lease_is_gone_and_tokens_go_on(
    path: Path, user: MakeUser, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, other = user(), user()
    before = old.token("it")
    path.unlink()
    monkeypatch.setattr(gate, "wall_us", lambda: 1)
    assert isinstance(old.engine.claim(old.request("it"), wait=True), Gone)
    assert old.engine.lease_renew(old.holder, 30.0, ()) == Renewal(False)
    other.renew_holder()
    assert other.token("it") > before


def test_a_state_file_deleted_while_nobody_has_it_open_costs_no_token(
    path: Path, user: MakeUser, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = user().token("it")
    for file in path.parent.glob("locks.db*"):
        if file.is_file() and "gate" not in file.name:
            file.unlink()
    monkeypatch.setattr(gate, "wall_us", lambda: 1)
    assert user().token("it") > before


def test_a_state_file_that_was_replaced_is_set_aside_and_nobody_holds_anything(
    path: Path, user: MakeUser, tmp_path: Path
) -> None:
    elsewhere = user(at=tmp_path / "other" / "locks.db")
    elsewhere.token("theirs")
    elsewhere.engine.close()
    one = user()
    before = one.token("it")
    os.replace(tmp_path / "other" / "locks.db", path)
    with pytest.warns(FencepostWarning, match=r"locks\.db' was replaced.*locks\.db\.replaced-"):
        assert isinstance(one.engine.claim(one.request("it"), wait=True), Gone)
    one.renew_holder()
    assert one.engine.names("") == []
    assert one.token("it") > before


def test_a_gate_that_was_deleted_is_made_anew_for_everybody(
    path: Path, user: MakeUser, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = user(), user()
    before = one.hold("it")
    path.with_name("locks.db-gate").unlink()
    monkeypatch.setattr(gate, "wall_us", lambda: 1)
    three = user()
    seen = [before.token, three.token("a"), two.token("b"), one.token("c"), three.token("d")]
    assert seen == sorted(set(seen))
    assert [standing.claim for standing in three.engine.look("it").holders] == [before]
    # All of them are behind the same gate again.
    for other in (two, three):
        with pytest.raises(gate.Occupied):
            one.engine._store.gate.alone(other.engine._store.gate.alone, lambda: pytest.fail("two are inside"))


def test_a_gate_that_was_truncated_neither_kills_nor_forgets(
    path: Path, user: MakeUser, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = user()
    before = one.token("it")
    os.truncate(path.with_name("locks.db-gate"), 0)
    monkeypatch.setattr(gate, "wall_us", lambda: 1)
    assert one.token("other") > before


def test_tokens_grow_when_the_clock_is_set_back(user: MakeUser, monkeypatch: pytest.MonkeyPatch) -> None:
    one = user()
    before = one.token("it")
    monkeypatch.setattr(gate, "wall_us", lambda: 1_000_000)
    assert one.token("other") > before
    assert user().token("a third") > before


def test_a_gate_busy_for_longer_than_the_patience_is_told_with_its_file(path: Path, user: MakeUser) -> None:
    two = user(patience=0.05)
    with shut_gate(path), pytest.raises(Unavailable, match=r"locks\.db' is busy"):
        two.engine.names("")
    assert two.engine.names("") == []


@pytest.mark.parametrize("gate_is_lost", [False, True])
def test_leases_of_another_boot_are_discarded_and_tokens_go_on(
    path: Path, user: MakeUser, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, gate_is_lost: bool
) -> None:
    one = user()
    before = one.token("it")
    one.engine.close()
    reboot(tmp_path, monkeypatch)
    if gate_is_lost:
        path.with_name("locks.db-gate").unlink()
    else:
        monkeypatch.setattr(gate, "wall_us", lambda: 1)
    two = user()
    assert two.engine.names("") == []
    assert two.token("it") > before


def test_a_state_file_torn_by_a_power_cut_is_discarded_without_being_opened(
    path: Path, user: MakeUser, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    one = user()
    before = one.token("it")
    one.engine.close()
    damage(path)
    reboot(tmp_path, monkeypatch)
    assert user().token("it") > before
    assert not list(path.parent.glob("*corrupt*"))


def test_no_token_is_minted_above_what_a_reboot_would_remember(
    path: Path, user: MakeUser, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = user()
    hours = 3_600_000_000
    for hour in range(5):
        now = time.time_ns() // 1000 + hour * hours
        monkeypatch.setattr(gate, "wall_us", lambda now=now: now)
        token = one.token(f"hour {hour}")
        words = memoryview(path.with_name("locks.db-gate").read_bytes()).cast("Q")
        durable = [words[at] for at in gate.RECORDS if words[at + 1] == gate._digest(words[at])]
        assert token <= max(durable) <= token + 2 * hours


def test_lock_state_that_is_damaged_is_set_aside_with_a_warning(path: Path, user: MakeUser) -> None:
    user().engine.close()
    damage(path)
    with pytest.warns(FencepostWarning, match=r"locks\.db' was corrupt.*locks\.db\.corrupt-\d{8}T\d{6}"):
        one = user()
    (aside,) = path.parent.glob("locks.db.corrupt-*")
    assert b"damage" in aside.read_bytes()
    assert one.token("it") > 0


def test_damage_under_an_open_engine_ends_its_leases(path: Path, user: MakeUser) -> None:
    one = user()
    one.token("it")
    for words in ("wal_checkpoint(TRUNCATE)", "shrink_memory"):
        one.engine._store.execute(f"PRAGMA {words}").fetchall()
    damage(path)
    with pytest.warns(FencepostWarning, match="was corrupt"):
        assert isinstance(one.engine.claim(one.request("other"), wait=True), Gone)
    one.renew_holder()
    assert one.engine.names("") == []
    assert one.token("it") > 0


@pytest.mark.parametrize("asked", [lambda s: list(s.names()), lambda s: s.lock("a").acquire()], ids=["look", "lock"])
@pytest.mark.parametrize("contents", THEIRS.values(), ids=THEIRS)
def test_a_file_of_something_else_is_refused_and_nothing_is_made_beside_it(
    path: Path, contents: bytes | None, asked: Callable[[fencepost.Session], object]
) -> None:
    put(path, contents)
    before = path.read_bytes()
    with closing(fencepost.connect(f"sqlite://{path}")) as session:
        for _ in range(2):
            with pytest.raises(Refused, match="of something else, and was left as it is: choose another path"):
                asked(session)
        with pytest.raises(Refused, match="of something else"):
            session.election("a").leader()
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("contents", THEIRS.values(), ids=THEIRS)
def test_a_file_of_something_else_outlives_a_reboot_also_beside_a_gate(
    path: Path, user: MakeUser, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, contents: bytes | None
) -> None:
    user().engine.close()
    put(path, contents)
    before = path.read_bytes()
    reboot(tmp_path, monkeypatch)
    for _ in range(2):
        with pytest.raises(Refused, match="of something else"):
            user()
    assert path.read_bytes() == before
    assert not list(path.parent.glob("*-20*"))


@pytest.mark.parametrize("contents", THEIRS.values(), ids=THEIRS)
def test_a_file_of_something_else_in_place_of_an_open_one_is_left_alone(
    path: Path, user: MakeUser, tmp_path: Path, contents: bytes | None
) -> None:
    one = user()
    one.token("it")
    put(tmp_path / "theirs", contents)
    os.replace(tmp_path / "theirs", path)
    before = path.read_bytes()
    with pytest.raises(Refused, match="of something else"):
        one.engine.claim(one.request("it"), wait=True)
    assert path.read_bytes() == before


def test_what_it_is_known_by_is_in_the_file_from_the_first_moment(path: Path, user: MakeUser) -> None:
    """The write-ahead log of a killed process may be lost, and the file must still be ours."""
    user()
    assert path.read_bytes()[:16] == b"SQLite format 3\0"
    assert int.from_bytes(path.read_bytes()[68:72]) == APPLICATION


def test_lock_state_that_lost_its_log_is_ours_still(path: Path, user: MakeUser) -> None:
    user()
    path.with_name("locks.db-gate").unlink()
    before = path.read_bytes()
    for file in path.parent.glob("locks.db*"):
        if file.is_file():
            file.unlink()
    path.write_bytes(before)
    assert user().token("it") > 0


def test_an_empty_file_becomes_lock_state(path: Path, user: MakeUser) -> None:
    path.parent.mkdir()
    path.touch()
    assert user().token("it") > 0


def test_a_look_at_the_file_ends_no_lock_that_sqlite_has_on_it(path: Path, user: MakeUser) -> None:
    """Closing any descriptor of a file ends all locks that this process has on it."""
    user()
    locks = Path("/proc/locks")
    inode = f":{path.stat().st_ino} "
    before = [line for line in locks.read_text().splitlines() if inode in line]
    assert before
    check_origin(str(path))
    assert [line for line in locks.read_text().splitlines() if inode in line] == before


def test_a_file_of_something_else_in_place_of_the_gate_is_refused_and_left_alone(path: Path, user: MakeUser) -> None:
    path.parent.mkdir()
    theirs = path.with_name("locks.db-gate")
    theirs.write_text("their work")
    with pytest.raises(Refused, match=r"locks\.db-gate' is a file of something else"):
        user()
    assert theirs.read_text() == "their work"


def test_a_database_that_is_refused_is_not_left_open(path: Path) -> None:
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as theirs, theirs:
        theirs.execute("CREATE TABLE customer (name TEXT)")
    store = Store(str(path))
    with pytest.raises(Refused, match="database of something else"):
        store.alone(list)
    assert not store.is_open
    store.gate.close()


def test_a_folder_in_place_of_the_file_is_refused(path: Path, user: MakeUser) -> None:
    path.mkdir(parents=True)
    with pytest.raises(Refused, match="is not a file"):
        user()


def test_a_file_in_place_of_the_folder_is_refused(path: Path, user: MakeUser) -> None:
    path.parent.write_text("in the way")
    with pytest.raises(Refused, match="choose another path"):
        user()


def _path_of(url: str) -> str:
    engine = Engine(parse_url(url), clock=threads.BootClock(), patience=1.0)
    engine.close()
    return engine._path


def test_without_a_path_the_state_is_in_the_users_own_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert _path_of("sqlite://") == f"{tmp_path}/fencepost/locks.db"
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert _path_of("sqlite:///") == f"{tmp_path}/.local/state/fencepost/locks.db"
    assert _path_of("sqlite:///tmp/a%20b.db") == "/tmp/a b.db"


def test_a_url_with_a_host_or_an_unknown_option_is_refused_when_the_engine_is_made() -> None:
    with pytest.raises(ValueError, match="three slashes"):
        Engine(parse_url("sqlite://tmp/locks.db"), clock=threads.BootClock(), patience=1.0)
    with pytest.raises(ValueError, match="unknown option 'mode'"):
        Engine(Url("sqlite", path="/x", options={"mode": "ro"}), clock=threads.BootClock(), patience=1.0)


def test_whoever_only_looks_where_nobody_has_locked_makes_no_file(tmp_path: Path) -> None:
    session = fencepost.connect(f"sqlite://{tmp_path}/mistyped/locks.db")
    assert list(session.names()) == []
    assert session.look("a") == ("a", (), (), ())
    assert session.evict("a") == ()
    session.close()
    assert list(tmp_path.iterdir()) == []
    with fencepost.connect(f"sqlite://{tmp_path}/locks.db", ttl=60) as session, session.lock("a"):
        assert list(session.names()) == ["a"]
