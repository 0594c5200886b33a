"""The kinds of places a fence can stand before."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.fences.database import DATABASES
from tests.support.fences.desk import Place
from tests.support.fences.place import PLACES, SHARED

# The same databases through other libraries, or another mode of the same one.
VARIANTS = [kind for kind in DATABASES if kind not in ("postgresql", "mariadb")]


def with_tier(kind: str) -> object:
    """A kind of place as a parameter, with the mark that says when it is tested."""
    if kind in VARIANTS:
        return pytest.param(kind, marks=pytest.mark.slow)
    return kind if kind in DATABASES else pytest.param(kind, marks=pytest.mark.unit)


@pytest.fixture(params=[with_tier(kind) for kind in PLACES])
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
