"""The state file as other processes and the disk have it: many at once, full, read-only, private, far away, linked."""

import os
import stat
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from fencepost.contract.answer import Busy, Granted
from fencepost.errors import Refused
from fencepost.testing.condition import until
from tests.engines.sqlite.conftest import MakeUser, StartChild
from tests.support.sqlite.shut import shut_gate
from tests.support.sqlite.user import Child

PRIVATE_MOUNT = ("unshare", "-rm", "sh", "-c")


def knocks(pid: int, gate: str) -> bool:
    """Whether the process has opened the gate's file."""
    try:
        return any(os.readlink(each) == gate for each in Path(f"/proc/{pid}/fd").iterdir())
    except FileNotFoundError:
        return False


def test_sixteen_processes_that_come_first_at_once_make_one_file(path: Path, child: StartChild, user: MakeUser) -> None:
    children = [child("own", f"name {number} ") for number in range(16)]
    assert [each.hears() for each in children] == [["ready"]] * 16
    path.parent.mkdir()
    with shut_gate(path):
        for each in children:
            each.go_on()
        until(lambda: all(knocks(each.process.pid, f"{path}-gate") for each in children))
        # Long enough for one that does not wait for its turn to make the file.
        time.sleep(0.1)
        assert not path.exists()
    tokens = [each.hears() for each in children]
    assert [word for word, *_ in tokens] == ["granted"] * 16
    assert len({token for _, token in tokens}) == 16
    assert len(user().engine.names("name ")) == 16


def _in_private_mount(child: StartChild, folder: Path, options: str, before: str = ":") -> Child:
    folder.mkdir()
    script = f'mount -t tmpfs -o {options} none {folder} && {before} && exec "$@"'
    return child("hold", prefix=(*PRIVATE_MOUNT, script, "sh"), at=folder / "locks.db")


def test_a_read_only_file_system_is_refused_with_what_to_do(child: StartChild, tmp_path: Path) -> None:
    word, *message = _in_private_mount(child, tmp_path / "mounted", "ro").hears()
    assert word == "Refused"
    assert "make its folder writable" in " ".join(message)


@pytest.mark.parametrize(
    "room", ["4k", "48k", *(pytest.param(room, marks=pytest.mark.slow) for room in ("8k", "16k", "32k"))]
)
def test_a_full_disk_is_unavailable_with_what_to_do(child: StartChild, tmp_path: Path, room: str) -> None:
    word, *message = _in_private_mount(child, tmp_path / "mounted", f"size={room}").hears()
    assert word == "Unavailable", message
    assert "free some space" in " ".join(message)


def test_a_disk_without_room_for_the_gate_does_not_kill(child: StartChild, tmp_path: Path) -> None:
    folder = tmp_path / "mounted"
    fill = f"head -c 4096 /dev/zero > {folder}/fill"
    word, *message = _in_private_mount(child, folder, "size=4k", before=fill).hears()
    assert word == "Unavailable", message
    assert "free some space" in " ".join(message)


def test_private_mounts_work_here(tmp_path: Path) -> None:
    """What the tests of full and read-only disks rest on."""
    script = f"mount -t tmpfs none {tmp_path} && touch {tmp_path}/seen && ls {tmp_path}"
    assert subprocess.check_output([*PRIVATE_MOUNT, script], text=True) == "seen\n"
    assert not (tmp_path / "seen").exists()


def test_nobody_else_can_read_or_write_what_the_engine_makes(path: Path, user: MakeUser) -> None:
    one, two = user(), user()
    claim = one.hold("it")
    queued = two.queue("it")
    modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert modes.pop("locks.db-mail") == 0o700
    assert set(modes) == {"locks.db", "locks.db-wal", "locks.db-shm", "locks.db-gate"}
    assert set(modes.values()) == {0o600}
    (box,) = path.with_name("locks.db-mail").iterdir()
    assert stat.S_IMODE(box.stat().st_mode) == 0o600
    one.engine.release(claim)
    answer = two.engine.wait(queued, 5.0)
    assert isinstance(answer, Granted)
    assert answer.tokens[0] > claim.token


def test_a_path_longer_than_a_socket_address_works(user: MakeUser, tmp_path: Path) -> None:
    far = tmp_path / ("d" * 100) / ("e" * 100) / "locks.db"
    one, two = user(at=far), user(at=far)
    claim = one.hold("it")
    queued = two.queue("it")
    one.engine.release(claim)
    answer = two.engine.wait(queued, 5.0)
    assert isinstance(answer, Granted)
    assert answer.tokens[0] > claim.token


@pytest.mark.parametrize("linked", ["file", "folder", "nothing yet"])
def test_a_file_that_is_reached_by_a_link_is_the_same_file(
    path: Path, user: MakeUser, tmp_path: Path, linked: str
) -> None:
    if linked != "nothing yet":
        user().engine.close()
    link = tmp_path / "linked" / "locks.db"
    if linked == "folder":
        path.parent.mkdir(exist_ok=True)
        link.parent.symlink_to(path.parent)
    else:
        link.parent.mkdir()
        link.symlink_to(path)
    straight, around = user(), user(at=link)
    held = straight.hold("it")
    assert isinstance(around.engine.claim(around.request("it"), wait=False), Busy)
    queued = around.queue("it")
    straight.engine.release(held)
    answer = around.engine.wait(queued, 20.0)
    assert isinstance(answer, Granted)
    assert answer.tokens[0] > held.token


@pytest.mark.parametrize("what", ["gate", "cells"])
def test_a_link_in_place_of_a_file_of_ours_is_refused_and_not_followed(
    path: Path, user: MakeUser, tmp_path: Path, what: str
) -> None:
    theirs = tmp_path / "theirs"
    theirs.write_text("their work")
    path.parent.mkdir()
    path.with_name(f"locks.db-{what}").symlink_to(theirs)
    with pytest.raises(Refused, match="choose another path"):
        user().engine.cells.read("it")
    assert theirs.read_text() == "their work"


def test_a_link_in_place_of_our_folder_of_boxes_is_refused_and_nothing_behind_it_is_cleared_away(
    path: Path, user: MakeUser, tmp_path: Path
) -> None:
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "work").write_text("theirs")
    path.parent.mkdir()
    path.with_name("locks.db-mail").symlink_to(theirs)
    with pytest.raises(Refused, match="choose another path"):
        user()
    assert (theirs / "work").read_text() == "theirs"


def test_what_is_no_box_is_not_cleared_away(path: Path, user: MakeUser) -> None:
    user()
    stray = path.with_name("locks.db-mail") / "notes"
    stray.write_text("whose?")
    user()
    assert stray.read_text() == "whose?"


def test_somebody_elses_link_in_a_folder_for_everybody_is_refused(
    user: MakeUser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As /tmp is."""

    def theirs(
        path: Path, *, dir_fd: int | None = None, real: Callable[..., os.stat_result] = os.lstat
    ) -> os.stat_result:
        status = list(real(path, dir_fd=dir_fd))
        status[stat.ST_UID] += 1
        return os.stat_result(status)

    folder = tmp_path / "for everybody"
    folder.mkdir()
    folder.chmod(0o1777)
    link = folder / "locks.db"
    link.symlink_to(tmp_path / "elsewhere.db")
    with monkeypatch.context() as patch:
        patch.setattr(os, "lstat", theirs)
        with pytest.raises(Refused, match="a link of somebody else's"):
            user(at=link)
    assert user(at=link).token("it") > 0
