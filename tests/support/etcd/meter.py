"""What a server counts itself."""

from urllib.request import urlopen


def watchers(port: int) -> int:
    """How many watches it keeps."""
    return _sum(port, "etcd_debugging_mvcc_watcher_total")


def keep_alives(port: int) -> int:
    """How many keep-alives it has been sent so far."""
    return _sum(port, "grpc_server_started_total", 'grpc_method="LeaseKeepAlive"')


def _sum(port: int, name: str, about: str = "") -> int:
    with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as page:
        lines = page.read().decode().splitlines()
    return sum(int(float(line.split()[-1])) for line in lines if line.startswith(name) and about in line)
