"""The state file and its gate: made, deleted, replaced, damaged, out of reach."""

import os
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

import fencepost
from fencepost._runtime import threads
from fencepost.contract.answer import Gone, Renewal
from fencepost.core.url import Url, parse_url
from fencepost.engines.sqlite import gate
from fencepost.engines.sqlite._sync.engine import Engine
from fencepost.engines.sqlite.store import Store
from fencepost.errors import FencepostWarning, Refused, Unavailable
from tests.engines.sqlite.conftest import MakeUser
from tests.support.sqlite.shut import shut_gate

pytestmark = pytest.mark.unit


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
    other_boot = tmp_path / "boot_id"
    other_boot.write_text("11111111-2222-3333-4444-555555555555\n")
    monkeypatch.setattr(gate, "BOOT_ID", other_boot)
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
    path.write_bytes(b"torn" * 1000)
    other_boot = tmp_path / "boot_id"
    other_boot.write_text("11111111-2222-3333-4444-555555555555\n")
    monkeypatch.setattr(gate, "BOOT_ID", other_boot)
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


def test_a_file_that_is_no_database_is_set_aside_with_a_warning(path: Path, user: MakeUser) -> None:
    path.parent.mkdir()
    path.write_bytes(b"this was something else once " * 100)
    with pytest.warns(FencepostWarning, match=r"locks\.db' was corrupt.*locks\.db\.corrupt-\d{8}T\d{6}"):
        one = user()
    (aside,) = path.parent.glob("locks.db.corrupt-*")
    assert aside.read_bytes().startswith(b"this was something else once")
    assert one.token("it") > 0


def test_damage_under_an_open_engine_ends_its_leases(path: Path, user: MakeUser) -> None:
    one = user()
    one.token("it")
    for words in ("wal_checkpoint(TRUNCATE)", "shrink_memory"):
        one.engine._store.execute(f"PRAGMA {words}").fetchall()
    with path.open("r+b") as file:
        file.seek(1024)
        file.write(b"damage" * 1000)
    with pytest.warns(FencepostWarning, match="was corrupt"):
        assert isinstance(one.engine.claim(one.request("other"), wait=True), Gone)
    one.renew_holder()
    assert one.engine.names("") == []
    assert one.token("it") > 0


def test_a_database_of_something_else_is_refused_and_left_alone(path: Path, user: MakeUser) -> None:
    path.parent.mkdir()
    with sqlite3.connect(path) as theirs:
        theirs.execute("CREATE TABLE customer (name TEXT)")
    theirs.close()
    before = path.read_bytes()
    with pytest.raises(Refused, match="database of something else"):
        user()
    assert path.read_bytes() == before


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
