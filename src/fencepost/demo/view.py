"""What people watch: a table that lives on a terminal, plain lines elsewhere."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from fencepost.demo import report
from fencepost.demo.crew import Member
from fencepost.demo.news import Step
from fencepost.demo.trial import Trial

if TYPE_CHECKING:
    from rich.console import Group
    from rich.table import Table

LIVE_EVERY = 0.1
PLAIN_EVERY = 0.5
Watch = Callable[[Trial], None]


def short(token: int) -> str:
    """The digits of a token that differ."""
    return f"…{token % 10**7:07}" if token else "none"


@contextmanager
def watching() -> Iterator[Watch]:
    """The function to call with a round under way, as often as one likes."""
    if sys.stdout.isatty():
        try:
            from rich.live import Live
        except ImportError:
            pass
        else:
            with Live(auto_refresh=False, transient=True) as live:
                yield _every(LIVE_EVERY, lambda trial: live.update(_panel(trial), refresh=True))
            return
    yield _every(PLAIN_EVERY, lambda trial: print(_line(trial), flush=True))


def show_report(outcomes: Sequence[report.Outcome]) -> None:
    if sys.stdout.isatty():
        try:
            from rich import print as rich_print
        except ImportError:
            pass
        else:
            rich_print(_result(outcomes))
            print(report.moral(outcomes))
            return
    print(report.table(outcomes))
    print(report.moral(outcomes))


def _every(seconds: float, show: Watch) -> Watch:
    shown: tuple[object, float] = (None, 0.0)

    def watch(trial: Trial) -> None:
        nonlocal shown
        if shown[0] is not trial or trial.elapsed - shown[1] >= seconds:
            shown = (trial, trial.elapsed)
            show(trial)

    return watch


def _counts(trial: Trial) -> str:
    return (
        f"pauses {trial.nemesis.pauses}, acknowledged {trial.acknowledged}, "
        f"refused as stale {trial.refused}, losses noticed {trial.lost}"
    )


def _line(trial: Trial) -> str:
    members = trial.crew.members.values()
    holder = trial.nemesis.holder or "nobody"
    waiting = ", ".join(member.name for member in members if member.step is Step.WAITING) or "nobody"
    paused = "".join(f"; {member.name} stopped with {_token(member)}" for member in members if member.paused)
    return (
        f"[{trial.fencing}] {trial.elapsed:4.1f} s: {holder} holds with {short(trial.nemesis.token)}, "
        f"waiting: {waiting}{paused}; {_counts(trial)}"
    )


def _token(member: Member) -> str:
    return short(member.news.token if member.news else 0)


def _panel(trial: Trial) -> "Group":
    from rich import box
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    table = Table(title=f"{trial.fencing}, {trial.elapsed:.1f} s", title_justify="left", box=box.SIMPLE, min_width=72)
    for heading in ("worker", "engine says", "worker says", "its token", "acknowledged", "refused"):
        table.add_column(heading)
    for member in trial.crew.members.values():
        holds = Text("holds", "bold green") if member.name == trial.nemesis.holder else Text("")
        believes = Text("STOPPED", "bold red") if member.paused else Text(str(member.step or "starting"))
        numbers = (str(len(member.acknowledged)), str(member.refused))
        table.add_row(member.name, holds, believes, _token(member), *numbers)
    return Group(table, Text(_counts(trial)))


def _result(outcomes: Sequence[report.Outcome]) -> "Table":
    from rich import box
    from rich.table import Table

    table = Table(title="acknowledged updates, and those still in the ledger", title_justify="left", box=box.SIMPLE)
    for heading in report.HEADINGS:
        table.add_column(heading, justify="left" if heading == "round" else "right", no_wrap=True)
    for outcome in outcomes:
        table.add_row(*outcome.row(), style="red" if outcome.lost else "green")
    return table
