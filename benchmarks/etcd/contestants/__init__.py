"""Who is measured. Each is used as its own documentation recommends, with one object kept for all cycles."""

from benchmarks.contestant import Contestant
from benchmarks.etcd.contestants.bare import BareHttp2
from benchmarks.etcd.contestants.ours import FencepostAsync, FencepostEtcd
from benchmarks.etcd.contestants.peers import Aetcd, Etcd3gw

ALL: dict[str, type[Contestant]] = {
    kind.name: kind for kind in (BareHttp2, FencepostEtcd, FencepostAsync, Aetcd, Etcd3gw)
}
PEERS = (Aetcd.name, Etcd3gw.name)

__all__ = ["ALL", "PEERS", "Aetcd", "BareHttp2", "Contestant", "Etcd3gw", "FencepostAsync", "FencepostEtcd"]
