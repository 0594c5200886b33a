"""The same values for people: tables. As wide as the terminal; in a pipe, as wide as it takes."""

import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from fencepost.errors import printable

if TYPE_CHECKING:
    from rich.console import Console, Group
    from rich.table import Table

    from fencepost.cli.view import View

UNLIMITED = 100_000
NUMBERS = frozenset(("TOKEN", "TOOK", "SINCE", "REMAINING", "WAITERS", "AGO", "PRIORITY", "#"))
# Seconds since 1970 are more than that since 2001; smaller numbers are those of somebody who counts.
A_BILLION = 1_000_000_000
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


def fitting(views: "list[View]", out: "Console") -> "Group":
    """As many of them as the screen has room for, and how many it has not."""
    from rich.console import Group
    from rich.text import Text

    room = out.height
    # A name takes a line at least, and more where its holders share it or the screen is narrow.
    shown = min(len(views), room)
    while shown and len(out.render_lines(overview(views[:shown]), pad=False)) > room - (shown < len(views)):
        shown -= 1
    more = len(views) - shown
    table = overview(views[:shown])
    if not more:
        return Group(table)
    rest = f"and {more} more, for which the screen is too small: give a PREFIX, or see 'fencepost ls'"
    return Group(table, Text(rest, no_wrap=True, overflow="ellipsis"))


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


def last_run(each: "View") -> "Table":
    """What is known of the job of that name."""
    run = each["last_run"]
    running = run["state"] == "running"
    # Whoever runs it holds the name: else it died, or lost the lock.
    left = running and all(holder["token"] != run["token"] for holder in each["holders"])
    row = (
        moment(run["tick"]) if isinstance(run["tick"], int) else printable(run["tick"]),
        printable(run["holder"]),
        str(run["token"]),
        "left unfinished" if left else run["state"],
        "-" if running else seconds(run["took"]),
        printable(run["error"]),
    )
    return _table(("TICK", "HOLDER", "TOKEN", "STATE", "TOOK", "ERROR"), [row])


def moment(tick: int) -> str:
    """A tick of a schedule is a number of seconds since 1970; whoever counts otherwise sees the number."""
    try:
        return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(tick)) if tick >= A_BILLION else str(tick)
    except (OverflowError, OSError, ValueError):
        return str(tick)


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
