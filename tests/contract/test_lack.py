"""What an engine says that lacks a trait, also where none of ours does: the embedded one, made poorer."""

from dataclasses import replace
from typing import Any

import pytest

from fencepost.contract import registry
from fencepost.testing.contract import CHAPTERS, Chapter, Site
from fencepost.testing.contract.need import LACKS

pytestmark = pytest.mark.unit


def lacked(test: Any) -> tuple[str, ...]:
    return tuple(trait for mark in getattr(test, "pytestmark", []) if mark.name == LACKS for trait in mark.args)


CASES = [
    pytest.param(chapter, test, id=f"{chapter.test_name}-{name}")
    for chapter in CHAPTERS
    for name, test in vars(chapter.tests).items()
    if lacked(test)
]


@pytest.mark.parametrize(("chapter", "test"), CASES)
async def test_a_lack_is_told(chapter: Chapter, test: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    lacks: dict[str, Any] = dict.fromkeys(lacked(test), False)
    for engine in (registry.engine("memory"), registry.async_engine("memory")):
        monkeypatch.setattr(engine, "traits", replace(engine.traits, **lacks))
    done = test(chapter.tests(), Site("memory://poor"))
    if chapter.flavour == "async":
        await done
