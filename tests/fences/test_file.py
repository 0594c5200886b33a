"""What is particular to the fence beside a file: order on disk, damage, permissions, paths."""

import os
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencepost.errors import FencepostError, Stale
from fencepost.fences import FileFence
from fencepost.fences.file.mark import decode, encode
from tests.support.fences.place import interrupted

pytestmark = pytest.mark.unit

NOBODY = 65534


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "report.csv"


def mode(path: Path | str) -> int:
    return stat.S_IMODE(os.stat(path).st_mode)


# Reading and writing


def test_read_and_write_are_guards_of_one_operation(path: Path) -> None:
    fence = FileFence(path)
    fence.write("a", 5, b"first")
    assert (fence.read("a", 6), fence.highest("a")) == (b"first", 6)
    with pytest.raises(Stale):
        fence.write("a", 5, b"second")
    with pytest.raises(Stale):
        fence.read("a", 5)
    assert path.read_bytes() == b"first"


def test_reading_a_missing_file_raises_and_still_claims(path: Path) -> None:
    fence = FileFence(path)
    with pytest.raises(FileNotFoundError):
        fence.read("a", 5)
    assert fence.highest("a") == 5
    assert not path.exists()


def test_a_block_reads_back_what_it_wrote_while_others_still_see_the_old_content(path: Path) -> None:
    path.write_bytes(b"old")
    with FileFence(path).guard("a", 5) as file:
        assert file.path == path
        file.write(b"new")
        assert (file.read(), path.read_bytes()) == (b"new", b"old")
    assert path.read_bytes() == b"new"


def test_an_empty_content_is_a_content(path: Path) -> None:
    path.write_bytes(b"old")
    FileFence(path).write("a", 5, b"")
    assert path.read_bytes() == b""


def test_what_was_passed_to_write_may_change_afterwards(path: Path) -> None:
    data = bytearray(b"then")
    with FileFence(path).guard("a", 5) as file:
        file.write(data)
        data[:] = b"now!"
    assert path.read_bytes() == b"then"


@pytest.mark.parametrize("data", ["text", 3, None])
def test_only_bytes_are_written(path: Path, data: bytes) -> None:
    with pytest.raises(TypeError):
        FileFence(path).write("a", 5, data)
    assert not path.exists()


def test_the_file_of_an_ended_guard_can_not_be_used(path: Path) -> None:
    fence = FileFence(path)
    with fence.guard("a", 5) as ended:
        ended.write(b"inside")
    with interrupted(fence.guard("a", 5)) as broken:
        pass
    for attempt in (ended.read, broken.read, lambda: ended.write(b"late"), lambda: broken.write(b"late")):
        with pytest.raises(ValueError, match="has ended: read and write inside its block"):
            attempt()
    assert path.read_bytes() == b"inside"


def test_two_fences_of_one_thread_on_one_file_nest(path: Path) -> None:
    with FileFence(path).guard("a", 1) as outer, FileFence(path).guard("b", 1) as inner:
        assert inner is outer


def test_sidecars_are_all_that_is_left_behind(path: Path) -> None:
    fence = FileFence(path)
    fence.write("a", 5, b"content")
    with interrupted(fence.guard("a", 6)) as file:
        file.write(b"undone")
    assert sorted(os.listdir(path.parent)) == ["report.csv", "report.csv.fence", "report.csv.fence.lock"]


# On disk


def test_the_mark_is_on_disk_before_the_content_is_replaced(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[str] = []
    fsync, replace = os.fsync, os.replace

    def recorded_fsync(descriptor: int) -> None:
        fsync(descriptor)
        steps.append(f"sync {os.path.basename(os.readlink(f'/proc/self/fd/{descriptor}'))}")

    def recorded_replace(source: str, target: str) -> None:
        replace(source, target)
        steps.append(f"rename {os.path.basename(target)}")

    monkeypatch.setattr(os, "fsync", recorded_fsync)
    monkeypatch.setattr(os, "replace", recorded_replace)
    with FileFence(path).guard("a", 5) as file:
        folder = f"sync {path.parent.name}"
        claimed = ["sync report.csv.fence.new", "rename report.csv.fence", folder]
        assert steps == claimed
        file.write(b"content")
    assert steps == [*claimed, "sync report.csv.fence.new", "rename report.csv", folder]


def test_a_disk_that_fails_leaves_content_and_mark_as_they_were(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fence = FileFence(path)
    fence.write("a", 5, b"old")

    def fail(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fail)
        with pytest.raises(OSError, match="No space"):
            fence.write("a", 6, b"new")
    assert (path.read_bytes(), fence.highest("a")) == (b"old", 5)
    assert not path.with_name("report.csv.fence.new").exists()
    fence.write("a", 5, b"works again")


@pytest.mark.parametrize("damage", ["empty", "torn", "lower", "text", "binary"])
def test_damaged_marks_let_nothing_pass(path: Path, damage: str) -> None:
    fence = FileFence(path)
    fence.write("a", 41, b"content")
    marks = path.with_name("report.csv.fence")
    whole = marks.read_bytes()
    damaged = {
        "empty": b"",
        "torn": whole[:-4],
        "lower": whole.replace(b"41", b"11"),
        "text": b"no marks\n",
        "binary": b"\xff\x00{",
    }
    marks.write_bytes(damaged[damage])
    for attempt in (
        lambda: fence.claim("a", 42),
        lambda: fence.write("a", 12, b""),
        lambda: fence.highest("a"),
    ):
        with pytest.raises(FencepostError, match=r"report\.csv\.fence' are damaged"):
            attempt()
    assert path.read_bytes() == b"content"
    marks.write_bytes(whole)
    fence.claim("a", 42)


MARKS = st.dictionaries(st.text(min_size=1), st.integers(1, 2**63 - 1), max_size=4)


@given(marks=MARKS)
def test_marks_are_read_as_they_were_written(marks: dict[str, int]) -> None:
    assert decode(encode(marks)) == marks


@given(marks=MARKS, data=st.data())
def test_marks_that_lost_their_end_or_changed_a_byte_are_noticed(marks: dict[str, int], data: st.DataObject) -> None:
    whole = encode(marks)
    cut = data.draw(st.integers(0, len(whole) - 1))
    with pytest.raises(ValueError):
        decode(whole[:cut])
    flip = data.draw(st.integers(1, 255))
    with pytest.raises(ValueError):
        decode(whole[:cut] + bytes([whole[cut] ^ flip]) + whole[cut + 1 :])


def test_a_leftover_of_a_crash_is_in_nobodys_way(path: Path) -> None:
    path.with_name("report.csv.fence.new").write_bytes(b"half a li")
    FileFence(path).write("a", 5, b"content")
    assert path.read_bytes() == b"content"
    assert not path.with_name("report.csv.fence.new").exists()


# Permissions and paths


@pytest.mark.parametrize(
    ("content", "sidecar"),
    [(0o600, 0o600), (0o644, 0o600), (0o664, 0o660), (0o660, 0o660), (0o666, 0o666), (0o620, 0o660)],
)
def test_sidecars_are_open_to_those_who_may_write_the_file(path: Path, content: int, sidecar: int) -> None:
    path.write_bytes(b"old")
    path.chmod(content)
    FileFence(path).write("a", 5, b"new")
    assert (mode(path), mode(f"{path}.fence"), mode(f"{path}.fence.lock")) == (content, sidecar, sidecar)


def test_a_new_file_is_private(path: Path) -> None:
    FileFence(path).write("a", 5, b"new")
    assert {mode(path), mode(f"{path}.fence"), mode(f"{path}.fence.lock")} == {0o600}


def test_sidecars_follow_when_the_file_is_opened_to_others(path: Path) -> None:
    fence = FileFence(path)
    fence.write("a", 5, b"new")
    path.chmod(0o660)
    fence.claim("a", 6)
    assert {mode(path), mode(f"{path}.fence"), mode(f"{path}.fence.lock")} == {0o660}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_the_owner_of_a_file_keeps_it_and_its_sidecars(path: Path) -> None:
    path.write_bytes(b"old")
    os.chown(path, NOBODY, NOBODY)
    FileFence(path).write("a", 5, b"new")
    for each in (path, Path(f"{path}.fence"), Path(f"{path}.fence.lock")):
        assert (each.stat().st_uid, each.stat().st_gid) == (NOBODY, NOBODY)


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    fence = FileFence(tmp_path / "missing" / "report.csv")
    assert fence.highest("a") == 0
    with pytest.raises(FileNotFoundError, match=r"in a folder that does not exist: '.*/missing'"):
        fence.claim("a", 5)


@contextmanager
def read_only_folder() -> Iterator[Path]:
    """A folder that this process, if need be no longer as root, can not write to."""
    with TemporaryDirectory(dir="/tmp") as name:
        folder, user = Path(name), os.geteuid()
        (folder / "report.csv").write_bytes(b"content")
        folder.chmod(0o555)
        if user == 0:
            os.seteuid(NOBODY)
        try:
            yield folder
        finally:
            os.seteuid(user)
            folder.chmod(0o755)


def test_a_read_only_folder_is_named_as_the_reason() -> None:
    with read_only_folder() as folder:
        fence = FileFence(folder / "report.csv")
        with pytest.raises(PermissionError, match="marks beside the file, and may not write there"):
            fence.claim("a", 5)


def test_a_folder_is_not_a_file(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError, match="guards one file, not a folder"):
        FileFence(tmp_path)


def test_links_and_relative_paths_lead_to_the_same_marks(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.write_bytes(b"content")
    link = path.with_name("link.csv")
    link.symlink_to(path)
    monkeypatch.chdir(path.parent)
    relative = FileFence("report.csv")
    monkeypatch.chdir("/")
    FileFence(link).write("a", 5, b"through the link")
    with pytest.raises(Stale):
        relative.claim("a", 4)
    assert link.is_symlink()
    assert path.read_bytes() == b"through the link"


def test_a_link_planted_at_the_lock_is_not_followed(path: Path) -> None:
    victim = path.with_name("victim")
    path.with_name("report.csv.fence.lock").symlink_to(victim)
    with pytest.raises(OSError, match="keeps its marks beside the file"):
        FileFence(path).claim("a", 5)
    assert not victim.exists()


def test_threads_with_one_fence_take_turns(path: Path) -> None:
    fence, threads, rounds = FileFence(path), 4, 10
    fence.write("a", 1, b"0")

    def count(turns: int = rounds) -> None:
        for _ in range(turns):
            with fence.guard("a", 1) as file:
                file.write(str(int(file.read()) + 1).encode())

    run_all([count] * threads)
    assert fence.read("a", 1) == str(threads * rounds).encode()


def run_all(targets: list[Callable[[], None]]) -> None:
    workers = [threading.Thread(target=target) for target in targets]
    for thread in workers:
        thread.start()
    for thread in workers:
        thread.join()
