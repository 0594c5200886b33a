"""The file of cells is deleted, moved or replaced under those who have it open: all go on with the one at the path."""

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from fencepost.contract.answer import Cell
from fencepost.testing.condition import until
from tests.support.sqlite.user import User

AT_ONCE = 20.0
LONG = 60.0


def cells_of(path: Path) -> Path:
    return path.with_name("locks.db-cells")


def deleted(path: Path) -> None:
    cells_of(path).unlink()


def moved(path: Path) -> None:
    cells_of(path).rename(path.with_name("moved"))


def replaced(path: Path) -> None:
    cells_of(path).with_name("other").touch()
    cells_of(path).with_name("other").replace(cells_of(path))


@pytest.mark.parametrize("lose", [deleted, moved, replaced], ids=lambda lose: lose.__name__)
def test_all_read_and_write_the_file_of_cells_that_is_there(
    path: Path, user: Callable[..., User], lose: Callable[[Path], None]
) -> None:
    one, two = (user().engine.cells for _ in range(2))
    before = one.write("it", "old", 0)
    assert before is not None
    assert two.read("it") == before
    lose(path)
    assert one.read("it") == two.read("it") == Cell(None, 0)
    after = two.write("it", "new", 0)
    assert after is not None
    assert one.read("it") == after
    assert one.write("it", "newer", after.version) == two.read("it")


def test_a_version_of_a_file_of_cells_that_was_deleted_is_none_of_the_next(
    path: Path, user: Callable[..., User]
) -> None:
    one, two = (user().engine.cells for _ in range(2))
    before = one.write("it", "old", 0)
    assert before is not None
    deleted(path)
    assert two.write("it", "new", 0)
    assert one.write("it", "from the past", before.version) is None
    assert two.read("it").value == "new"


def test_one_who_watches_a_cell_whose_file_was_deleted_is_told_of_the_next_change(
    path: Path, user: Callable[..., User]
) -> None:
    one, two = (user().engine.cells for _ in range(2))
    before = one.write("it", "old", 0)
    assert before is not None
    found: list[Cell] = []
    watching = threading.Thread(target=lambda: found.append(two.watch("it", before.version, LONG)), daemon=True)
    watching.start()
    until(lambda: one._file._do(lambda connection: connection.execute("SELECT 1 FROM watcher").fetchall()))
    deleted(path)
    assert one.write("it", "new", 0)
    watching.join(AT_ONCE)
    assert [cell.value for cell in found] == ["new"]
