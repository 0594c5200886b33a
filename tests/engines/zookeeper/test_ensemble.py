"""The contract once more, on an ensemble of three, where it can differ from one server.

Each session picks its server at random, so that sessions of one test are at several.
"""

from collections.abc import Iterator

import pytest

from fencepost.testing.contract import Site
from fencepost.testing.contract.zookeeper import site as site_at
from fencepost.testing.zookeeper import shared_ensemble
from tests.support.ensemble import chapters

pytestmark = pytest.mark.slow


@pytest.fixture(params=["zookeeper"])
def site() -> Iterator[Site]:
    with site_at(hosts=shared_ensemble().hosts) as found:
        yield found


for chapter in chapters():
    globals()[chapter.test_name] = chapter.tests
