"""Every test of the contract runs at the sites that the matrix names for its chapter."""

import random
from collections.abc import Iterator

import pytest

from fencepost.testing.contract import CHAPTERS, SITES, Site
from tests.contract.matrix import ADVERSARIES, is_quick, schemes_of
from tests.contract.strangers import strangers_at
from tests.support.tier import engine_of

LAW_OF = {chapter.tests: chapter.law for chapter in CHAPTERS}


@pytest.fixture
def site(request: pytest.FixtureRequest) -> Iterator[Site]:
    with SITES[request.param]() as site:
        site.strangers.update(strangers_at(request.param))
        yield site


@pytest.fixture
def fencepost_dice(dice: random.Random) -> random.Random:
    return dice


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    law = LAW_OF.get(metafunc.cls)
    if law:
        # Only those that will be kept: collecting all takes longer than many a test.
        wanted = metafunc.config.getoption("engine")
        schemes = [scheme for scheme in schemes_of(law) if not wanted or engine_of(wanted) == engine_of(scheme)]
        test = metafunc.function.__name__
        parameters = [pytest.param(scheme, marks=_marks(scheme, law, test)) for scheme in schemes]
        metafunc.parametrize("site", parameters, indirect=True, ids=schemes)


def _marks(scheme: str, law: str, test: str) -> list[pytest.MarkDecorator]:
    storm = [pytest.mark.storm] if law in ADVERSARIES else []
    return storm if is_quick(scheme, law, test) else [*storm, pytest.mark.slow]


def pytest_itemcollected(item: pytest.Item) -> None:
    # An engine that is left when it is silent is seldom kept by one that drips, and that takes long to show.
    if getattr(item, "callspec", None) and item.callspec.params.get("fault") == "drip":  # type: ignore[attr-defined]
        item.add_marker(pytest.mark.slow)
