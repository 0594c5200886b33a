"""The SQL of this engine, read from the files beside."""

import re
import sqlite3
import sys
from collections.abc import Callable, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

_HERE = files(__package__)
SCHEMA = (_HERE / "schema.sql").read_text()
# Up to 3.12.3 Python takes the number of a parameter for its name, and warns of it: python/cpython#117995.
NUMBERS_ARE_NAMES = (3, 12) <= sys.version_info < (3, 12, 4)
_NUMBERED = re.compile(r"\?([0-9]+)")
Execute = Callable[..., sqlite3.Cursor]


def _statements() -> dict[str, str]:
    found = {}
    for part in (_HERE / "statements.sql").read_text().split("-- name: ")[1:]:
        name, _, text = part.partition("\n")
        found[name.strip()] = text.strip()
    return found


STATEMENTS = _statements()


def without_numbers(execute: Execute) -> Execute:
    """The same `execute`, for a Python to which numbered parameters can not be given in a row."""

    def executed(statement: str, arguments: Sequence[Any] = ()) -> sqlite3.Cursor:
        text, places = _in_a_row(statement)
        return execute(text, [arguments[place - 1] for place in places] if places else arguments)

    return executed


@cache
def _in_a_row(statement: str) -> tuple[str, tuple[int, ...]]:
    """With parameters that have no number, and which numbers they had."""
    return _NUMBERED.sub("?", statement), tuple(map(int, _NUMBERED.findall(statement)))
