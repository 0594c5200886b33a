"""The same values for people: tables. As wide as the terminal; in a pipe, as wide as it takes."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from fencepost.errors import printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from fencepost.cli.view import View

UNLIMITED = 100_000
NUMBERS = frozenset(("TOKEN", "SINCE", "REMAINING", "WAITERS", "AGO", "PRIORITY", "#"))
UNITS = ((86_400, "d"), (3600, "h"), (60, "m"))


def console() -> "Console":
    from rich.console import Console

    width = None if sys.stdout.isatty() else UNLIMITED
    return Console(width=width, highlight=False, markup=False, emoji=False, soft_wrap=width is not None)


def print_table(table: "Table") -> None:
    """Without the blanks that would fill the last column."""
    out = console()
    if out.is_terminal:
        out.print(table)
        return
    with out.capture() as capture:
        out.print(table)
    for line in capture.get().splitlines():
        sys.stdout.write(line.rstrip() + "\n")


def overview(views: "list[View]") -> "Table":
    rows: list[tuple[str, ...]] = []
    for each in views:
        name, waiters = printable(each["name"]), str(len(each["waiters"]))
        if not each["holders"]:
            rows.append((name, "-", "-", "-", "-", waiters, ""))
        for holder in each["holders"]:
            rows.append((name, *_holder(holder), waiters, printable(holder["note"])))
            # Of several who share it, the first says what holds for all.
            name = waiters = ""
    return _table(("NAME", "HOLDER", "TOKEN", "SINCE", "REMAINING", "WAITERS", "NOTE"), rows)


def holders(each: "View") -> "Table":
    rows = [(*_holder(holder), holder["mode"], printable(holder["note"])) for holder in each["holders"]]
    return _table(("HOLDER", "TOKEN", "SINCE", "REMAINING", "MODE", "NOTE"), rows)


def waiters(each: "View") -> "Table":
    rows = [
        (
            str(at),
            printable(waiter["holder"]),
            str(waiter["priority"]),
            seconds(waiter["since"]),
            seconds(waiter["remaining"]),
            waiter["mode"],
            printable(waiter["note"]),
        )
        for at, waiter in enumerate(each["waiters"], 1)
    ]
    return _table(("#", "WAITER", "PRIORITY", "SINCE", "REMAINING", "MODE", "NOTE"), rows)


def evictions(each: "View") -> "Table":
    rows = [
        (seconds(one["ago"]), str(one["token"]), printable(one["evicted"]), printable(one["by"]))
        for one in each["evictions"]
    ]
    return _table(("AGO", "TOKEN", "EVICTED", "BY"), rows)


def seconds(value: float) -> str:
    """For people: 2.5 s, 42 s, 3 m 20 s, 2 h 5 m, 4 d 1 h."""
    if value < 10:
        return f"{value:.1f} s"
    whole = int(value)
    for size, unit in UNITS:
        if whole >= size:
            smaller, name = next(((s, n) for s, n in UNITS if s < size), (1, "s"))
            return f"{whole // size} {unit} {whole % size // smaller} {name}"
    return f"{whole} s"


def _holder(holder: "View") -> tuple[str, ...]:
    token = str(holder["token"])
    return printable(holder["holder"]), token, seconds(holder["since"]), seconds(holder["remaining"])


def _table(columns: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> "Table":
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        if column in NUMBERS:
            # A number that is cut short is a wrong number: on a narrow terminal, text gives way and goes on below.
            table.add_column(column, justify="right", no_wrap=True)
        else:
            table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*row)
    return table
