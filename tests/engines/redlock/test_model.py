"""Random lives on a real server, compared with the model."""

import uuid

from fencepost.testing.contract.redlock import shared_nodes, url_of
from tests.support.life import lives

TestRedlock, TestAsyncRedlock = lives(
    "redlock", lambda store: url_of(shared_nodes(), f"?prefix={store}{uuid.uuid4().hex}/"), examples=10, steps=25
)
