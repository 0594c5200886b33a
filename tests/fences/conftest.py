"""The kinds of places a fence can stand before."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.fences.desk import Place
from tests.support.fences.place import PLACES, SHARED


@pytest.fixture(params=PLACES)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=SHARED)
def shared(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def place(kind: str, tmp_path: Path) -> Iterator[Place]:
    place = PLACES[kind](tmp_path)
    yield place
    place.close()
