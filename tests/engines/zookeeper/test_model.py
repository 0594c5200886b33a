"""Random lives on a real server, compared with the model."""

from fencepost.testing.zookeeper import shared_server
from tests.support.life import lives

TestZookeeper, TestAsyncZookeeper = lives(
    "zookeeper", lambda store: f"zookeeper://127.0.0.1:{shared_server().port}/{store}", examples=15
)
