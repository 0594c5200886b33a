"""One statement for every driver: written with `:name` parameters, sent in the style that the driver takes."""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, NamedTuple

from fencepost.core.name import is_plain
from fencepost.core.shown import shown

_PARAMETER = re.compile(r"(?<!:):([a-z_0-9]+)")


class Answer(NamedTuple):
    """What a statement gave: its rows, how many rows it changed, and the id of what it inserted."""

    rows: list[tuple[Any, ...]]
    changed: int
    rowid: int | None = None


@cache
def pyformat(sql: str) -> str:
    """For psycopg, PyMySQL and Django."""
    return _PARAMETER.sub(r"%(\1)s", sql)


@cache
def numbered(sql: str) -> tuple[str, tuple[str, ...]]:
    """For asyncpg: with $1, $2, …, and which parameter each of them is."""
    order: dict[str, int] = {}

    def number(found: "re.Match[str]") -> str:
        return f"${order.setdefault(found[1], len(order) + 1)}"

    return _PARAMETER.sub(number, sql), tuple(order)


def quoted(name: str, mark: str) -> str:
    """A table or column, such as `orders` or `shop.orders`, as the database has it: exactly so, and nothing else."""
    if not isinstance(name, str):
        raise TypeError(f"the name of a table or column is text, not {type(name).__name__}")
    parts = name.split(".")
    if not all(part and mark not in part for part in parts) or not is_plain(name):
        raise ValueError(f"{shown(name)} is not the name of a table or column")
    return ".".join(f"{mark}{part}{mark}" for part in parts)


def quoted_all(names: Iterable[str], mark: str, what: str = "columns") -> dict[str, str]:
    """Each of several columns, as the database has it."""
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise TypeError(f"{what} are a list of texts, not {shown(names)}")
    return {name: quoted(name, mark) for name in names}


def positional(sql: str, params: Mapping[str, Any]) -> tuple[str, list[Any]]:
    text, order = numbered(sql)
    return text, [params[name] for name in order]
