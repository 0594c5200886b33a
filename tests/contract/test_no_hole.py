"""No engine, no law and no flavour is left out of the contract suite."""

import inspect
from pathlib import Path

from fencepost.contract import registry
from fencepost.testing import contract

from . import test_contract


def test_every_engine_of_the_registry_has_a_site() -> None:
    assert set(contract.SITES) == set(registry.engines())


def test_every_chapter_is_there_in_both_flavours_with_the_same_tests() -> None:
    found = {(chapter.law, chapter.flavour): chapter.tests for chapter in contract.CHAPTERS}
    assert set(found) == {(law, flavour) for law in contract.LAWS for flavour in contract.FLAVOURS}
    for law in contract.LAWS:
        ours, twins = (_tests(found[law, flavour]) for flavour in contract.FLAVOURS)
        assert ours == twins != set()


def test_every_chapter_file_is_in_the_list_of_laws() -> None:
    folder = Path(contract.__file__).parent / "_async"
    chapters = {path.stem for path in folder.glob("*.py") if "Chapter:" in path.read_text()}
    assert chapters == set(contract.LAWS)


def test_every_test_of_every_chapter_runs_at_every_site() -> None:
    for chapter in contract.CHAPTERS:
        assert getattr(test_contract, chapter.test_name) is chapter.tests
        for name in _tests(chapter.tests):
            assert "site" in inspect.signature(getattr(chapter.tests, name)).parameters, f"{name} needs no engine"
            marks = [mark.name for mark in getattr(getattr(chapter.tests, name), "pytestmark", [])]
            assert not {"skip", "skipif", "xfail"} & set(marks), f"{name} is left out"


def _tests(chapter: type) -> set[str]:
    return {name for name in vars(chapter) if name.startswith("test_")}
