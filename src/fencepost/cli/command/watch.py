"""`fencepost watch`: who holds what, as it changes."""

import json
import sys
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import click

from fencepost.cli import exit, option, say
from fencepost.cli.connection import complete_name, look_at_all, onlooker
from fencepost.cli.ending import Ending
from fencepost.cli.keyboard import Keyboard
from fencepost.errors import EngineError

if TYPE_CHECKING:
    from fencepost.cli.view import View
    from fencepost.primitives._sync.session import Session


@click.command(short_help="Follow who holds what, as it changes.")
@click.argument("prefix", default="", shell_complete=complete_name)
@option.url
@click.option("--interval", type=option.seconds, default=1.0, show_default=True, help="Time between two looks.")
@click.option("--count", type=click.IntRange(min=1), help="End after so many looks. Default: never.")
@click.option("--once", is_flag=True, help="The same as --count 1.")
@option.as_json
@option.quiet
def watch(prefix: str, url: str | None, interval: float, count: int | None, once: bool, as_json: bool) -> int:
    """Follow the names that begin with PREFIX.

    On a terminal a table that is kept up to date, until Ctrl-C or `q`. Elsewhere, and with --json, a line for every
    name at first, and then for every change. What comes and goes between two looks is not seen.
    """
    count = 1 if once else count
    with onlooker(url) as session, exit.usage():
        if sys.stdout.isatty() and not as_json:
            with Ending() as ending, Keyboard() as keyboard:
                _keep_table(_looks(session, prefix, count, lambda: keyboard.says_enough(interval)))
            if ending.signum:
                return 128 + ending.signum
        else:
            _print_changes(_looks(session, prefix, count, lambda: time.sleep(interval)), as_json=as_json)
    return exit.OK


def _looks(
    session: "Session", prefix: str, count: int | None, pause: "Callable[[], bool | None]"
) -> "Iterator[dict[str, View]]":
    """One look after another, until a pause says that it is enough.

    The first must succeed; later ones that do not are noted, and tried again.
    """
    from fencepost.cli.view import view

    done = 0
    troubled = False
    while True:
        try:
            seen = {each.name: view(each) for each in look_at_all(session, prefix)}
            troubled = False
            yield {name: each for name, each in seen.items() if each["holders"] or each["waiters"]}
        except EngineError as error:
            if done == 0:
                raise
            if not troubled:
                say.note(f"no news: {error}")
            troubled = True
        done += 1
        if (count is not None and done >= count) or pause():
            return


def _keep_table(looks: "Iterator[dict[str, View]]") -> None:
    from rich.live import Live

    from fencepost.cli.table import console, fitting

    out = console()
    with Live(console=out, auto_refresh=False) as live:
        for seen in looks:
            live.update(fitting(list(seen.values()), out) if seen else "nothing is held", refresh=True)


def _print_changes(looks: "Iterator[dict[str, View]]", *, as_json: bool) -> None:
    from fencepost.cli.change import changes, sentence

    before: dict[str, View] = {}
    for seen in looks:
        for each in changes(before, seen):
            now = time.time()
            if as_json:
                click.echo(json.dumps({"at": round(now, 3), **each}))
            else:
                click.echo(f"{time.strftime('%H:%M:%S', time.localtime(now))} {sentence(each)}")
        before = seen
