"""`fencepost ls`: who holds what."""

import json

import click

from fencepost.cli import exit, option, say
from fencepost.cli.connection import complete_name, look_at_all, onlooker


@click.command(short_help="List the names that are held or waited for.")
@click.argument("prefix", default="", shell_complete=complete_name)
@option.url
@option.as_json
@option.quiet
def ls(prefix: str, url: str | None, as_json: bool) -> int:
    """List the names that are held or waited for, and begin with PREFIX."""
    from fencepost.cli.view import view

    with onlooker(url) as session, exit.usage():
        views = [view(each) for each in look_at_all(session, prefix)]
    # Between the two questions a name may have become free.
    views = [each for each in views if each["holders"] or each["waiters"]]
    if as_json:
        click.echo(json.dumps(views))
    elif views:
        from fencepost.cli.table import overview, print_table

        print_table(overview(views))
    else:
        say.note(f"nothing that begins with '{prefix}' is held" if prefix else "nothing is held")
    return exit.OK
