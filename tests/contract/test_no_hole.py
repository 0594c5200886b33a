"""No engine, no law and no flavour is left out of the contract suite."""

from pathlib import Path

import pytest

from fencepost.contract import registry
from fencepost.testing import contract


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


def test_every_engine_runs_every_test_of_every_chapter(request: pytest.FixtureRequest) -> None:
    collected = {item.nodeid.partition("::")[2] for item in request.session.items}
    wanted = {f"{chapter.test_name}::{name}" for chapter in contract.CHAPTERS for name in _tests(chapter.tests)}
    seen = {node.partition("[")[0] for node in collected}
    if not wanted & seen:
        pytest.fail("run this file together with test_contract.py")
    for engine in contract.SITES:
        for name in wanted:
            assert any(node.startswith(f"{name}[") and engine in node for node in collected), f"{engine} lacks {name}"


def _tests(chapter: type) -> set[str]:
    return {name for name in vars(chapter) if name.startswith("test_")}
