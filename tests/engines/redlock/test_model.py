"""Random lives on a real server, compared with the model."""

import uuid

from fencepost.testing.contract.redlock import shared_nodes, url_of
from tests.support.life import lives


def _url(store: str) -> str:
    return url_of(shared_nodes(), f"?prefix={store}{uuid.uuid4().hex}/")


TestRedlock, TestAsyncRedlock = lives("redlock", _url, examples=20)
