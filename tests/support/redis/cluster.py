"""What an engine knows of its cluster."""

from fencepost.engines.redis.cluster._sync.engine import Cluster, ClusterEngine


def cluster_of(engine: ClusterEngine) -> Cluster:
    assert isinstance(engine._server, Cluster)
    return engine._server
