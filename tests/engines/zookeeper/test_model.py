"""Random lives on a real server, compared with the model."""

import pytest

from fencepost.testing.zookeeper import shared_server
from tests.support.life import lives

pytestmark = [pytest.mark.slow, pytest.mark.storm]

TestZookeeper, TestAsyncZookeeper = lives(
    "zookeeper", lambda store: f"zookeeper://127.0.0.1:{shared_server().port}/{store}", examples=15
)
