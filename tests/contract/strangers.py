"""Hostile records for Redis, Redlock and ZooKeeper, written by plain clients of theirs."""

from collections.abc import Callable
from functools import partial

from fencepost.core.url import parse_url
from fencepost.engines.zookeeper.path import encode
from fencepost.testing.contract import Site
from fencepost.testing.contract.hostile import VALUES

Leave = Callable[[Site, str], None]
# How a value of ours begins in Redis, and what may then follow that is not.
ALMOST = {each.decode(): each for each in (b"fp:h:1:x:3:abc", b"fp:h:1:5:zz:abc", b"fp:")}


def strangers_at(scheme: str) -> dict[str, Leave]:
    match scheme:
        case "redis" | "redlock":
            return {title: partial(_leave_key, value=value) for title, value in (VALUES | ALMOST).items()} | {
                "another type": _leave_list,
                "a queue of nobody's": _leave_queue,
            }
        case "zookeeper":
            return {title: partial(_leave_node, value=value) for title, value in VALUES.items()}
    return {}


def _leave_key(site: Site, name: str, value: bytes) -> None:
    for client in _clients(site):
        client.set(name, value, px=600_000)
        client.close()


def _leave_list(site: Site, name: str) -> None:
    for client in _clients(site):
        client.rpush(name, "a", "b")
        client.close()


def _leave_queue(site: Site, name: str) -> None:
    for client in _clients(site):
        client.zadd(f"fencepost\0queue\0{name}", {"garbage": 1, "h:1:x:y:q:zz": 2, b"\xff\xfe": 3})
        client.zadd("fencepost\0names", {name: 9e18, b"\xff\xfe": 9e18})
        client.lpush("fencepost\0audit", "no record", b"\xff")
        client.close()


def _clients(site: Site) -> list:  # type: ignore[type-arg]
    import redis

    return [redis.Redis(host=host, port=port or 6379) for host, port in parse_url(site.url).hosts]


def _leave_node(site: Site, name: str, value: bytes) -> None:
    from kazoo.client import KazooClient

    url = parse_url(site.url)
    hosts = ",".join(f"{host}:{port}" for host, port in url.hosts)
    client = KazooClient(hosts=hosts, timeout=20)
    client.start()
    path = f"{url.path}/{encode(name)}"
    client.ensure_path(path)
    for child in ("0123456789abcdef0123456789abcdef__lock__9999999999", "junk", "x__lock__zzz"):
        client.create(f"{path}/{child}", value)
    client.stop()
    client.close()
