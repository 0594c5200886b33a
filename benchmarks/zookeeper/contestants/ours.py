"""fencepost, through its public face."""

from benchmarks import ours

# As long as the servers keep a session.
TTL = 15.0


class Fencepost(ours.Fencepost):
    name = "fencepost zookeeper://"
    ttl = TTL

    def url(self, place: int) -> str:
        return f"zookeeper://127.0.0.1:{place}/fencepost"


class FencepostAsync(ours.FencepostAsync):
    name = "fencepost zookeeper:// async"
    ttl = TTL

    def url(self, place: int) -> str:
        return f"zookeeper://127.0.0.1:{place}/fencepost-async"
