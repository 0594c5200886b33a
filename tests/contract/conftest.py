"""Every test of the contract runs at the sites that the matrix names for its chapter."""

from collections.abc import Iterator

import pytest

from fencepost.testing.contract import CHAPTERS, SITES, Site
from tests.contract.matrix import is_quick, schemes_of

LAW_OF = {chapter.tests: chapter.law for chapter in CHAPTERS}


@pytest.fixture
def site(request: pytest.FixtureRequest) -> Iterator[Site]:
    with SITES[request.param]() as site:
        yield site


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    law = LAW_OF.get(metafunc.cls)
    if law:
        schemes = [pytest.param(scheme, marks=_marks(scheme, law)) for scheme in schemes_of(law)]
        metafunc.parametrize("site", schemes, indirect=True, ids=schemes_of(law))


def _marks(scheme: str, law: str) -> list[pytest.MarkDecorator]:
    return [] if is_quick(scheme, law) else [pytest.mark.slow]
