"""fencepost, through its public face."""

from benchmarks import ours
from benchmarks.postgresql.place import url


class FencepostAdvisory(ours.Fencepost):
    name = "fencepost postgresql+advisory://"

    def url(self, place: int) -> str:
        return url("postgresql+advisory", place)


class FencepostTable(ours.Fencepost):
    name = "fencepost postgresql://"

    def url(self, place: int) -> str:
        return url("postgresql", place)


class FencepostAdvisoryAsync(ours.FencepostAsync):
    name = "fencepost postgresql+advisory:// async"

    def url(self, place: int) -> str:
        return url("postgresql+advisory", place)


class FencepostTableAsync(ours.FencepostAsync):
    name = "fencepost postgresql:// async"

    def url(self, place: int) -> str:
        return url("postgresql", place)
