"""Every test of the contract runs at every engine's site."""

from collections.abc import Iterator

import pytest

from fencepost.testing.contract import SITES, Site


@pytest.fixture(params=sorted(SITES))
def site(request: pytest.FixtureRequest) -> Iterator[Site]:
    with SITES[request.param]() as site:
        yield site
