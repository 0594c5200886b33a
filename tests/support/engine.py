"""The engine of a session, for what only engines of its kind have."""

from typing import TypeVar, cast

from fencepost import AsyncSession, Session
from fencepost.contract._sync.cell import CellEngine, Cells

E = TypeVar("E")


def engine_as(session: Session | AsyncSession, kind: type[E]) -> E:
    """It must be one of that kind."""
    engine: object = session.engine
    assert isinstance(engine, kind)
    return engine


def cells_of(session: Session) -> Cells:
    return cast(CellEngine, session.engine).cells
