"""No engine, no law and no flavour is left out of the contract suite."""

import ast
import inspect
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

from fencepost.contract import registry
from fencepost.testing import contract
from fencepost.testing.contract.need import LACKS, is_about

from . import test_contract
from .matrix import OTHER_PLACE, OTHER_TRANSPORT, WAITING_LONG, is_quick, laws_at
from .strangers import strangers_at

ROOT = Path(__file__).parents[2]
FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


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


def test_a_variant_of_an_engine_leaves_out_chapters_and_nothing_else_does() -> None:
    variants = {*OTHER_TRANSPORT, *OTHER_PLACE}
    assert variants < set(contract.SITES)
    for scheme in contract.SITES:
        assert "transport" in laws_at(scheme)
        assert (laws_at(scheme) == contract.LAWS) is (scheme not in variants)


def test_what_is_left_to_the_slow_tier_by_name_is_there() -> None:
    assert set(WAITING_LONG) <= {name for chapter in contract.CHAPTERS for name in _tests(chapter.tests)}


def test_every_test_of_every_chapter_runs_at_every_site_that_it_is_about() -> None:
    for chapter in contract.CHAPTERS:
        assert getattr(test_contract, chapter.test_name) is chapter.tests
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "tests/contract/test_contract.py"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=100)
    collected = [line.rpartition(".py::")[2] for line in run.stdout.splitlines() if ".py::" in line]
    assert {_pair(each) for each in collected} == {
        (f"{chapter.test_name}::{name}", scheme)
        for chapter in contract.CHAPTERS
        for name in _tests(chapter.tests)
        for scheme in contract.SITES
        if chapter.law in laws_at(scheme)
        if is_about(_marks(chapter.tests, name), registry.engine(scheme).traits)
    }, run.stderr


def test_every_site_with_a_store_that_others_reach_offers_hostile_records() -> None:
    quick = [scheme for scheme in contract.SITES if is_quick(scheme, "strangers") and scheme != "memory"]
    ours = {"sqlite", "etcd", "consul", "postgresql", "postgresql+advisory"}
    assert {scheme for scheme in quick if strangers_at(scheme)} == set(quick) - ours
    for scheme in ours & set(quick):
        module = "site" if scheme == "sqlite" else scheme.partition("+")[0]
        text = (Path(contract.__file__).parent / f"{module}.py").read_text()
        assert "strangers=" in text, f"{scheme} offers none"


def test_every_test_is_about_some_engine_and_leaves_none_out_by_itself() -> None:
    engines = [registry.engine(scheme).traits for scheme in contract.SITES]
    for chapter in contract.CHAPTERS:
        for name in _tests(chapter.tests):
            marks = _marks(chapter.tests, name)
            assert not {"skip", "skipif", "xfail"} & {mark.name for mark in marks}, f"{name} is left out"
            # What an engine says that lacks something is tested in test_lack, too: it may be that none of ours does.
            wanted = [mark for mark in marks if mark.name != LACKS]
            assert any(is_about(wanted, traits) for traits in engines), f"{name} runs nowhere"
            test = getattr(chapter.tests, name)
            assert "site" in inspect.signature(test).parameters, f"{name} needs no engine"
            assert not _gives_up_early(test), f"{name} returns, and passes, without having tested all: see `needs`"


def _pair(collected: str) -> tuple[str, str]:
    """The test and the scheme, out of `Chapter::test[fault-scheme]`."""
    name, _, parameters = collected.removesuffix("]").partition("[")
    (scheme,) = set(parameters.split("-")) & set(contract.SITES)
    return name, scheme


def _gives_up_early(test: Any) -> bool:
    (function,) = ast.parse(textwrap.dedent(inspect.getsource(test))).body
    inner = [part for part in ast.walk(function) if part is not function and isinstance(part, FUNCTION)]
    allowed = [node for part in inner for node in ast.walk(part)]
    return any(isinstance(node, ast.Return) and node not in allowed for node in ast.walk(function))


def _marks(chapter: type, name: str) -> list[Any]:
    return list(getattr(getattr(chapter, name), "pytestmark", []))


def _tests(chapter: type) -> set[str]:
    return {name for name in vars(chapter) if name.startswith("test_")}
