"""Which test process runs which tests."""

import pytest

from tests.support.distribution import PIECE, choose, kind, pieces

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("test", "servers"),
    [
        ("tests/contract/test_contract.py::TestTokenSync::test_a[redis+cluster]", "redis+cluster"),
        ("tests/contract/test_contract.py::TestDeadlineSync::test_a[silence-etcd]", "etcd"),
        ("tests/contract/test_contract.py::TestTokenSync::test_a[postgresql+advisory]", "postgresql"),
        ("tests/engines/etcd/test_fault.py::test_a", "etcd"),
        ("tests/engines/zookeeper/_sync/test_fault.py::test_a", "zookeeper"),
        ("tests/engines/etcd/test_cluster.py::test_a[etcd]", "etcd cluster"),
        ("tests/engines/zookeeper/test_ensemble.py::TestTokenSync::test_a[zookeeper]", "zookeeper ensemble"),
        ("tests/fences/redis/test_redis.py::test_a[sync]", "redis"),
        ("tests/fences/test_file.py::test_a", "fences"),
        ("tests/core/test_url.py::test_a", "core"),
        ("tests/platform/test_platform.py::test_a[etcd]", "etcd"),
        ("tests/platform/test_platform.py::test_a[macos]", "platform"),
    ],
)
def test_tests_of_one_kind_need_the_same_servers(test: str, servers: str) -> None:
    assert kind(test) == servers


def test_a_piece_is_a_few_tests_of_one_kind() -> None:
    tests = [f"tests/{folder}/test_x.py::test_{each}" for each in range(PIECE + 1) for folder in ("core", "cli")]
    found = pieces(tests)
    assert set(found) == set(tests)
    assert sorted(set(found.values())) == ["cli/0", "cli/1", "core/0", "core/1"]


def test_a_process_takes_more_of_what_it_has_met_then_what_nobody_has_then_what_is_left_most() -> None:
    waiting = ["redis/1", "etcd/3", "etcd/4", "consul/0", "sqlite/0", "sqlite/1"]
    assert choose(waiting, {"consul"}, {"redis", "etcd"}) == "consul/0"
    assert choose(waiting, set(), {"redis", "etcd"}) == "sqlite/0"
    assert choose(waiting[:3], {"consul"}, {"redis", "etcd"}) == "etcd/3"
