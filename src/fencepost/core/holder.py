"""Who asks and holds."""

from typing import NamedTuple


class Holder(NamedTuple):
    """One lease at an engine. The id is unique and unguessable; the label is for people."""

    id: str
    label: str

    def __str__(self) -> str:
        return self.label
