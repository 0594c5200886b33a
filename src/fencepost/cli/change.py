"""What differs between two looks at the engine."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from fencepost.errors import printable

if TYPE_CHECKING:
    from fencepost.cli.view import View


def changes(before: "Mapping[str, View]", now: "Mapping[str, View]") -> "Iterator[View]":
    """The names whose holders or waiters changed, as they are now; sorted by name."""
    for name in sorted(before.keys() | now.keys()):
        new = now.get(name) or {"name": name, "holders": [], "waiters": [], "evictions": []}
        old = before.get(name)
        if old is None or _who(old) != _who(new):
            yield new


def sentence(each: "View") -> str:
    """A change as a person would say it."""
    holders = [f"{holder['holder']} (token {holder['token']})" for holder in each["holders"]]
    text = f"'{each['name']}' " + (f"held by {', '.join(holders)}" if holders else "free")
    if each["waiters"]:
        text += f", {len(each['waiters'])} waiting"
    return printable(text)


def _who(each: "View") -> tuple[Any, ...]:
    """What counts as a change: who stands where, not how long."""
    holders = tuple((holder["holder"], holder["token"]) for holder in each["holders"])
    return holders, tuple(waiter["holder"] for waiter in each["waiters"])
