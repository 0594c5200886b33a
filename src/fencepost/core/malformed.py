"""What comes from a server or a shared store, and is not what it should be."""

import json
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from fencepost.errors import Unavailable

P = ParamSpec("P")
T = TypeVar("T")
# What a decoder stumbles over when something is missing, too deep, too large or of another kind.
STUMBLES = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError)


class Malformed(Unavailable, ValueError):
    """What came is no answer, so that nobody knows what has happened."""


def read_json(text: bytes | str) -> Any:
    """What stands there, however deep or long somebody has made it."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise Malformed("what came is no JSON, or is nested too deeply") from None


def decoder(function: Callable[P, T]) -> Callable[P, T]:
    """For whatever takes apart what others have written: what it stumbles over is their mistake, and never ours."""

    @wraps(function)
    def decode(*args: P.args, **named: P.kwargs) -> T:
        try:
            return function(*args, **named)
        except Malformed:
            raise
        except STUMBLES as error:
            told = f"{type(error).__name__}: {error}"[:200]
            raise Malformed(f"what came can not be read ({told})") from error

    return decode


def is_integer(value: object, least: int = 0, most: int = 2**63 - 1) -> bool:
    """Whether it is a whole number of a size that is meant; a boolean is none."""
    return type(value) is int and least <= value <= most


def is_number(value: object, most: float = 1e15) -> bool:
    """Whether it is a number to reckon with: neither infinite nor of a size that no float has."""
    return type(value) in (int, float) and -most <= value <= most  # type: ignore[operator]


def are_texts(value: object, count: int | None = None) -> bool:
    """Whether it is a list of texts, of so many if a count is given."""
    return isinstance(value, list) and count in (None, len(value)) and all(isinstance(each, str) for each in value)


def is_text(value: object) -> bool:
    """Whether it can be written down: a text with a lone surrogate can not."""
    if not isinstance(value, str):
        return False
    if value.isascii():
        return True
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
