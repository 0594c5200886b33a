"""Random lives on a real server, compared with the model."""

import pytest

from fencepost.testing.etcd import shared_server
from tests.support.life import lives

pytestmark = [pytest.mark.slow, pytest.mark.storm]

TestEtcd, TestAsyncEtcd = lives("etcd", lambda store: f"etcd://127.0.0.1:{shared_server()}?prefix={store}/", examples=8)
