# Written by hand; the blocking twin under _sync is generated from it.
"""Which flow of control, thread or task, holds which name and may enter it again."""

from weakref import WeakValueDictionary

from fencepost.session._async.grant import AsyncGrant


class AsyncReentrance:
    """Entries vanish with their grants, so that flows and names long gone take no room."""

    __slots__ = ("_grants",)

    def __init__(self) -> None:
        self._grants: WeakValueDictionary[tuple[str, object], AsyncGrant] = WeakValueDictionary()

    def held(self, name: str, flow: object) -> AsyncGrant | None:
        """The grant that `flow` may enter again; `Lost` if it had one and lost it inside."""
        grant = self._grants.get((name, flow))
        # None is left to give back also of one that was lost first.
        if grant is None or grant.released or grant._depth == 0:
            return None
        grant.check()
        return grant

    def enter(self, grant: AsyncGrant, flow: object) -> None:
        self._grants[grant.name, flow] = grant
