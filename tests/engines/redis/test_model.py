"""Random lives on a real server, compared with the model."""

import uuid

from fencepost.testing.redis import shared_server
from tests.engines.life import lives

TestRedis, TestAsyncRedis = lives(
    "redis", lambda store: f"redis://127.0.0.1:{shared_server()}?prefix={store}{uuid.uuid4().hex}/", examples=25
)
