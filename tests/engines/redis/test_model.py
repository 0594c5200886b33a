"""Random lives on a real server, compared with the model."""

import uuid

from fencepost.testing.redis import shared_server
from tests.support.life import lives


def _url(store: str) -> str:
    return f"redis://127.0.0.1:{shared_server()}?prefix={store}{uuid.uuid4().hex}/"


TestRedis, TestAsyncRedis = lives("redis", _url, examples=25)
