"""Which tests need the machine to themselves: clusters that elect leaders within fractions of a second, and storms.

`make test` runs them alone, after all others.
"""

from pathlib import Path

import pytest

pytest_plugins = ["tests.standstill"]

HERE = Path(__file__).parent
CALM = (
    "demo",
    "engines/consul/test_cluster.py",
    "engines/etcd/test_cluster.py",
    "engines/postgresql/test_storm.py",
    "engines/redlock/test_clock.py",
    "engines/redlock/test_split.py",
    "engines/redlock/test_storm.py",
    "engines/zookeeper/_async/test_outage.py",
    "engines/zookeeper/_async/test_partition.py",
    "engines/zookeeper/_sync/test_outage.py",
    "engines/zookeeper/_sync/test_partition.py",
    "testing/test_stall.py",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if str(item.path.relative_to(HERE)).startswith(CALM):
            item.add_marker(pytest.mark.calm)
