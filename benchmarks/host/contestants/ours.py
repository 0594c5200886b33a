"""fencepost, through its public face."""

from pathlib import Path

from benchmarks import ours


class FencepostSqlite(ours.Fencepost):
    name = "fencepost sqlite://"

    def url(self, place: Path) -> str:
        return f"sqlite:///{place}/fencepost.db"


class FencepostMemory(ours.Fencepost):
    name = "fencepost memory://"
    across_processes = False

    def url(self, place: Path) -> str:
        return "memory://"


class FencepostAsync(ours.FencepostAsync):
    name = "fencepost sqlite:// async"

    def url(self, place: Path) -> str:
        return f"sqlite:///{place}/fencepost-async.db"
