"""A row as it was read."""

from collections.abc import Mapping
from typing import Any, NamedTuple


class Row(NamedTuple):
    """The values of a row, and the version that they are of."""

    values: Mapping[str, Any]
    version: int
