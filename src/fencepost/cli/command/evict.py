"""`fencepost evict`: take a name from whoever holds it."""

import json
import sys
from typing import TYPE_CHECKING

import click

from fencepost.cli import exit, option, say
from fencepost.cli.connection import complete_name, onlooker, operator
from fencepost.errors import printable

if TYPE_CHECKING:
    from fencepost.core.claim import Claim


@click.command(short_help="Take a name from whoever holds it.")
@click.argument("name", shell_complete=complete_name)
@option.url
@click.option("--yes", is_flag=True, help="Do not ask first.")
@option.as_json
@option.quiet
def evict(name: str, url: str | None, yes: bool, as_json: bool) -> int:
    """Take NAME from whoever holds it, and leave a record of that.

    The next in the queue is granted at once. The evicted holder learns of it at its next renewal; until then
    only a fence at the resource keeps it out. Exit code 1: nobody held it.
    """
    if not yes and not sys.stdin.isatty():
        raise click.ClickException("evict asks first, and there is no terminal to ask on: use --yes")
    with onlooker(url) as session, exit.usage():
        if not yes:
            held = session.look(name).holders
            if held and not click.confirm(f"Take {_what(name, held[0].claim, len(held))}?", err=True):
                say.note("nothing was taken")
                return exit.NOTHING_DONE
        claims = session.evict(name)
    if as_json:
        from fencepost.cli.view import taken

        click.echo(json.dumps({"name": name, "by": operator(), "taken": [taken(claim) for claim in claims]}))
    for claim in () if as_json else claims:
        click.echo(f"took {_what(name, claim, 1)}")
    if not claims:
        say.note(f"nobody holds '{name}'")
        return exit.NOTHING_DONE
    return exit.OK


def _what(name: str, claim: "Claim", count: int) -> str:
    more = f" and {count - 1} more" if count > 1 else ""
    return printable(f"'{name}' (token {claim.token}) from {claim.holder}{more}")
