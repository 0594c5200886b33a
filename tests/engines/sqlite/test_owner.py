"""In a folder that everybody may write somebody else may have been first: whose files they are owns the locks."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from fencepost.engines.sqlite import location
from fencepost.errors import Refused
from tests.support.sqlite.user import User

FILES = ["", "-gate", "-wal", "-shm", "-journal"]
CELLS = ["-cells", "-cells-journal", "-cells-wal"]


@pytest.fixture
def theirs(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], None]:
    """From here on we are somebody else than who made this file, and it is nobody's that we trust."""

    def make(file: Path) -> None:
        owner, lstat = file.lstat().st_uid, os.lstat

        def seen(path: str) -> os.stat_result:
            status = lstat(path)
            return status if os.fspath(path) != str(file) else os.stat_result((*status[:4], owner + 1, *status[5:]))

        monkeypatch.setattr(location, "trusted", lambda: (owner,))
        monkeypatch.setattr("fencepost.engines.sqlite.location.os.lstat", seen)

    return make


def shared_folder(path: Path, mode: int) -> None:
    path.parent.mkdir()
    path.parent.chmod(mode)


@pytest.mark.parametrize("mode", [0o777, 0o1777], ids=oct)
@pytest.mark.parametrize("ending", FILES)
def test_a_file_of_somebody_elses_in_a_folder_for_everybody_is_refused(
    path: Path, user: Callable[..., User], theirs: Callable[[Path], None], ending: str, mode: int
) -> None:
    shared_folder(path, mode)
    file = path.with_name(f"locks.db{ending}")
    file.touch()
    theirs(file)
    with pytest.raises(Refused, match=f"{file.name}' belongs to another user.*make a folder of your own"):
        user()


@pytest.mark.parametrize("ending", CELLS)
def test_cells_of_somebody_elses_in_a_folder_for_everybody_are_refused(
    path: Path, user: Callable[..., User], theirs: Callable[[Path], None], ending: str
) -> None:
    shared_folder(path, 0o1777)
    one = user()
    file = path.with_name(f"locks.db{ending}")
    file.touch()
    theirs(file)
    with pytest.raises(Refused, match=f"{file.name}' belongs to another user"):
        one.engine.cells.write("it", "value", 0)


@pytest.mark.parametrize("ending", ["-mail", "-cells-mail"])
def test_mailboxes_in_a_folder_of_somebody_elses_are_refused(
    path: Path, user: Callable[..., User], theirs: Callable[[Path], None], ending: str
) -> None:
    shared_folder(path, 0o1777)
    folder = path.with_name(f"locks.db{ending}")
    folder.mkdir()
    theirs(folder)
    with pytest.raises(Refused, match=f"{folder.name}' belongs to another user"):
        user().engine.cells.watch("it", 0, 0.0)


@pytest.mark.parametrize("mode", [0o700, 0o770, 0o1770], ids=oct)
def test_a_folder_that_no_stranger_may_write_is_left_to_those_who_share_it(
    path: Path, user: Callable[..., User], theirs: Callable[[Path], None], mode: int
) -> None:
    shared_folder(path, mode)
    user()
    theirs(path)
    assert user().token("it")


def test_our_own_files_in_a_folder_for_everybody_are_good(path: Path, user: Callable[..., User]) -> None:
    shared_folder(path, 0o1777)
    one, two = user(), user()
    assert one.token("it") < two.token("other")
    assert two.engine.cells.write("it", "value", 0) == one.engine.cells.read("it")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to somebody else")
def test_what_nobody_made_is_not_roots(path: Path, user: Callable[..., User]) -> None:
    shared_folder(path, 0o1777)
    path.touch()
    os.chown(path, 65534, 65534)
    with pytest.raises(Refused, match="belongs to another user"):
        user()
