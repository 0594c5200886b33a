"""Who led when: the latest changes of an election, numbered, so that whoever reads them knows what it missed."""

from typing import Any, NamedTuple

from fencepost.core.malformed import are_texts, is_integer

# Observers that fall further behind than this are told how much they missed.
KEPT = 64
# How much their values may take together, in units of UTF-16. It is one value to the engine, and Consul takes 512 KiB,
# in which such a unit may take six bytes.
MOST_UNITS = 65_536


class Leader(NamedTuple):
    """Who leads, with what value. `term` is the token of its grant; `missed` changes were not seen before this one."""

    term: int
    value: str
    holder: str
    missed: int = 0


def is_election(document: dict[str, Any]) -> bool:
    """Whether a document that anybody may have written is one of an election."""
    changes = document.get("changes", [])
    return isinstance(changes, list) and all(
        isinstance(each, list)
        and len(each) == 4
        and all(is_integer(number, least=1) for number in each[:2])
        and are_texts(each[2:])
        for each in changes
    )


def proclaim(document: dict[str, Any], term: int, value: str, holder: str) -> dict[str, Any] | None:
    """The history with one more change; None if a later term is in it already."""
    changes = document.get("changes", [])
    if changes and changes[-1][1] > term:
        return None
    number = changes[-1][0] + 1 if changes else 1
    kept = [*changes, [number, term, value, holder]][-KEPT:]
    size = sum(_units(each[2]) for each in kept)
    while len(kept) > 1 and size > MOST_UNITS:
        size -= _units(kept.pop(0)[2])
    return {"changes": kept}


def _units(value: str) -> int:
    """As JSON escapes it: what others have written may hold lone surrogates, too."""
    return len(value) if value.isascii() else len(value.encode("utf-16-le", "surrogatepass")) // 2


def latest(document: dict[str, Any]) -> tuple[int, Leader | None]:
    """The number of the latest change, and who led then."""
    changes = document.get("changes", [])
    if not changes:
        return 0, None
    number, term, value, holder = changes[-1]
    return number, Leader(term, value, holder)


def changes_since(document: dict[str, Any], number: int) -> list[tuple[int, Leader]]:
    """Every change after that one, in order; the first says how many are not kept any more.

    A history that ends before it is another: the engine has lost its memory, and this one began after that.
    """
    found = []
    if number > latest(document)[0]:
        number = 0
    for at, term, value, holder in document.get("changes", []):
        if at > number:
            found.append((at, Leader(term, value, holder, missed=at - number - 1)))
            number = at
    return found
