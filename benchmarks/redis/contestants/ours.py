"""fencepost, through its public face."""

from benchmarks import ours

TTL = 3600.0


class FencepostRedis(ours.Fencepost):
    name = "fencepost redis://"
    ttl = TTL

    def url(self, place: int) -> str:
        return f"redis://127.0.0.1:{place}"


class FencepostAsync(ours.FencepostAsync):
    name = "fencepost redis:// async"
    ttl = TTL

    def url(self, place: int) -> str:
        return f"redis://127.0.0.1:{place}"
