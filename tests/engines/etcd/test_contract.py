"""The whole contract once more, on three members of the current etcd."""

from collections.abc import Iterator

import pytest

from fencepost.testing.contract import CHAPTERS, Site
from fencepost.testing.contract.etcd import cluster_site


@pytest.fixture(params=["etcd"])
def site() -> Iterator[Site]:
    with cluster_site() as site:
        yield site


for chapter in CHAPTERS:
    globals()[chapter.test_name] = chapter.tests
