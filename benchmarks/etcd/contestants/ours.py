"""fencepost, through its public face."""

from benchmarks import ours


class FencepostEtcd(ours.Fencepost):
    name = "fencepost etcd://"

    def url(self, place: int) -> str:
        return f"etcd://127.0.0.1:{place}"


class FencepostAsync(ours.FencepostAsync):
    name = "fencepost etcd:// async"

    def url(self, place: int) -> str:
        return f"etcd://127.0.0.1:{place}"
