"""`fencepost show`: everything about one name."""

import json

import click

from fencepost.cli import exit, option, say
from fencepost.cli.connection import complete_name, onlooker


@click.command(short_help="Show who holds a name, who waits, and who was evicted.")
@click.argument("name", shell_complete=complete_name)
@option.url
@option.as_json
@option.quiet
def show(name: str, url: str | None, as_json: bool) -> int:
    """Show who holds NAME, who waits for it, in order, and from whom it was taken by hand."""
    from fencepost.cli.view import view

    with onlooker(url) as session, exit.usage():
        seen = view(session.look(name))
    if as_json:
        click.echo(json.dumps(seen))
        return exit.OK
    from fencepost.cli import table

    title = say.printable(name)
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
    return exit.OK
