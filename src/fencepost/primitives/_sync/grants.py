# Generated from src/fencepost/primitives/_async/grants.py by tools/unasync.py. Do not edit: run `make gen`.
"""Several grants that were asked for together."""

from collections.abc import Iterator, Mapping

from fencepost._runtime import threads as runtime
from fencepost.errors import FencepostError
from fencepost.session._sync.grant import Grant
from fencepost.session._sync.surrender import of_one_request, release_together


class Grants(Mapping[str, Grant]):
    """One grant for each name, each with its own token. They are given back together; losing one ends them all."""

    def __init__(self, grants: list[Grant]) -> None:
        self._grants = {grant.name: grant for grant in grants}

    def __getitem__(self, name: str) -> Grant:
        return self._grants[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._grants)

    def __len__(self) -> int:
        return len(self._grants)

    def __repr__(self) -> str:
        inside = ", ".join(f"'{grant.name}' token {grant.token} {grant.standing}" for grant in self.values())
        return f"<{type(self).__name__} {inside}>"

    @property
    def tokens(self) -> dict[str, int]:
        """By name."""
        return {grant.name: grant.token for grant in self.values()}

    @property
    def held(self) -> bool:
        """Whether all of them are provably ours now."""
        return all(grant.held for grant in self.values())

    @property
    def released(self) -> bool:
        return all(grant.released for grant in self.values())

    def remaining(self) -> float:
        """Seconds for which all of them are still proven ours: 0.0 when one is not."""
        return min(grant.remaining() for grant in self.values())

    def check(self) -> None:
        """Raise `Lost`, or `NotHeld` after a release, unless all of them are provably ours now."""
        for grant in self.values():
            grant.check()

    def require(self, seconds: float) -> None:
        """Raise `Lost` unless all of them stay provably ours for that long, without any renewal."""
        for grant in self.values():
            grant.require(seconds)

    def release(self) -> None:
        """Give back all that were not yet: in one step where they were granted so, else the last acquired first.

        What went wrong with any is raised at the end.
        """
        grants = list(reversed(self._grants.values()))
        grants = [grant for grant in grants if not grant.released] or grants
        together = of_one_request(grants)
        failure = release_together(together) if together else None
        done = set(together)
        for grant in [grant for grant in grants if grant not in done]:
            try:
                grant.release()
            except FencepostError as error:
                failure = failure or error
        if failure is not None:
            raise failure

    def interrupt_on_loss(self, interrupt: runtime.Interrupt) -> None:
        for grant in self.values():
            grant.interrupt_on_loss(interrupt)

    def forget_interrupt(self, interrupt: runtime.Interrupt) -> None:
        for grant in self.values():
            grant.forget_interrupt(interrupt)
