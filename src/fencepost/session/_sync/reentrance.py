# Generated from src/fencepost/session/_async/reentrance.py by tools/unasync.py. Do not edit: run `make gen`.
"""Which flow of control, thread or task, holds which name and may enter it again."""

from fencepost.session._sync.grant import Grant


class Reentrance:
    __slots__ = ("_grants",)

    def __init__(self) -> None:
        self._grants: dict[tuple[str, object], Grant] = {}

    def held(self, name: str, flow: object) -> Grant | None:
        """The grant that `flow` may enter again; `Lost` if it had one and lost it inside."""
        grant = self._grants.get((name, flow))
        if grant is None:
            return None
        if grant.released:
            del self._grants[name, flow]
            return None
        grant.check()
        return grant

    def enter(self, grant: Grant, flow: object) -> None:
        self._grants[grant.name, flow] = grant
