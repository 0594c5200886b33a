"""The contract suite once more, on an ensemble of three."""

from collections.abc import Iterator

import pytest

from fencepost.testing.contract import CHAPTERS, Site
from fencepost.testing.contract.zookeeper import site as site_at
from fencepost.testing.zookeeper import shared_ensemble


@pytest.fixture(params=["zookeeper"])
def site() -> Iterator[Site]:
    with site_at(hosts=shared_ensemble().hosts) as found:
        yield found


for chapter in CHAPTERS:
    globals()[chapter.test_name] = chapter.tests
