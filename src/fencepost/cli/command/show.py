"""`fencepost show`: everything about one name, or who is stuck waiting for each other."""

import json
from typing import TYPE_CHECKING

import click

from fencepost.cli import exit, option, say
from fencepost.cli.connection import complete_name, look_at_all, onlooker
from fencepost.errors import Refused, printable

if TYPE_CHECKING:
    from fencepost.cli.view import View
    from fencepost.primitives._sync.session import Session


@click.command(short_help="Show who holds a name, who waits, and who was evicted; or deadlocks.")
@click.argument("name", required=False, shell_complete=complete_name)
@click.option("--deadlocks", is_flag=True, help="Show sessions that wait for each other in a circle, on any name.")
@option.url
@option.as_json
@option.quiet
def show(name: str | None, deadlocks: bool, url: str | None, as_json: bool) -> int:
    """Show who holds NAME, who waits for it, in order, from whom it was taken by hand, and the last run of its job.

    With --deadlocks: which sessions wait for each other in a circle. It is a deadlock if those who wait are those who
    hold; a session that works in several threads or tasks may still get on.
    """
    from fencepost.cli.view import view

    if (name is None) is not deadlocks:
        raise click.UsageError("give a NAME, or --deadlocks for all names")
    with onlooker(url) as session, exit.usage():
        if name is None:
            return _show_deadlocks(session, as_json)
        seen = {**view(session.look(name)), "last_run": _last_run(session, name)}
    if as_json:
        click.echo(json.dumps(seen))
        return exit.OK
    from fencepost.cli import table

    title = printable(name)
    if seen["holders"]:
        click.echo(f"'{title}' is held")
        table.print_table(table.holders(seen))
    else:
        click.echo(f"'{title}' is free")
    if seen["waiters"]:
        click.echo("\nwaiting, in order")
        table.print_table(table.waiters(seen))
    if seen["evictions"]:
        click.echo("\nevicted")
        table.print_table(table.evictions(seen))
    if seen["last_run"] is not None:
        click.echo("\nlast run")
        table.print_table(table.last_run(seen))
    return exit.OK


def _last_run(session: "Session", name: str) -> "View | None":
    """How the last run of the job of that name ended, where the engine keeps that."""
    from fencepost.cli.view import last_run

    if not session.traits.cells:
        return None
    try:
        return last_run(session.job(name).last())
    except Refused as error:
        say.note(f"the last run of '{name}' can not be looked at: {error}")
        return None


def _show_deadlocks(session: "Session", as_json: bool) -> int:
    from fencepost.core.deadlock import Line, deadlocks

    snapshots = list(look_at_all(session))
    found = deadlocks(
        Line([standing.claim for standing in each.holders], [standing.claim for standing in each.waiters])
        for each in snapshots
    )
    if as_json:
        from fencepost.cli.view import wait

        click.echo(json.dumps([[wait(each) for each in circle] for circle in found]))
        return exit.OK
    if not found:
        say.note("no deadlock: nobody waits in a circle")
    for number, circle in enumerate(found, 1):
        click.echo(f"deadlock {number}")
        for each in circle:
            blocker = each.blocker
            how = f"holds it (token {blocker.token})" if blocker.token is not None else "goes before it"
            line = f"{each.waiter.holder} waits for '{each.waiter.name}': {blocker.holder} {how}"
            click.echo(f"  {printable(line)}")
    if found:
        say.note("to let one of them go on: fencepost evict NAME")
    return exit.OK
