"""Random lives on a real server, compared with the model."""

import pytest

from fencepost.testing.consul import shared_agent
from tests.support.life import lives

pytestmark = [pytest.mark.slow, pytest.mark.storm]

TestConsul, TestAsyncConsul = lives(
    "consul", lambda store: f"consul://127.0.0.1:{shared_agent().port}?prefix={store}/", examples=12
)
