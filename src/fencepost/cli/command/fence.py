"""`fencepost fence`: let a database refuse writes that show no current token."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from fencepost.cli import exit, option, say
from fencepost.errors import printable

if TYPE_CHECKING:
    from fencepost.core.url import Url
    from fencepost.fences.sql.trigger import Enforcement

url = click.argument("url")
table = click.option("--table", required=True, metavar="TABLE", help="The table, with its schema if need be.")


@click.group(short_help="Let a database refuse writes that show no token.")
def fence() -> None:
    """Let a database itself refuse writes that show no current token, so that code which forgets is refused too."""


@fence.command(short_help="Refuse writes to a table that show no current token.")
@url
@table
@click.option("--name", metavar="NAME", help="The lock that protects the table. By default the table's own name.")
@click.option("--key", metavar="COLUMN", help="A lock for each row: NAME/value of this column.")
@option.as_json
@option.quiet
def install(url: str, table: str, name: str | None, key: str | None, as_json: bool) -> int:
    """Add a trigger to TABLE in the database at URL (postgresql://…) that refuses writes without a current token.

    Installing again replaces what was installed before.
    """
    from fencepost.fences.sql import trigger

    with _connection(url) as connection:
        done = trigger.install(connection, table, name=name, key=key)
    if as_json:
        click.echo(json.dumps(asdict(done)))
    else:
        click.echo(f"writes to '{done.table}' now need {_needed(done)}")
    return exit.OK


@fence.command(short_help="List the tables that refuse writes without a token.")
@url
@option.as_json
@option.quiet
def status(url: str, as_json: bool) -> int:
    """List the tables in the database at URL whose writes need a token."""
    from fencepost.fences.sql import trigger

    with _connection(url) as connection:
        found = trigger.status(connection)
    if as_json:
        click.echo(json.dumps([asdict(each) for each in found]))
        return exit.OK
    for each in found:
        past = ", ".join(each.unguarded)
        off = "" if each.enabled else f", but not those to {past} (trigger missing or disabled): install it again"
        click.echo(printable(f"{each.table}: writes need {_needed(each)}{off}"))
    if not found:
        say.note("no table needs a token")
    return exit.OK


@fence.command(short_help="Take the trigger away again.")
@url
@table
@option.quiet
def remove(url: str, table: str) -> int:
    """Take the trigger from TABLE in the database at URL. The marks stay. Exit code 1: there was none."""
    from fencepost.fences.sql import trigger

    with _connection(url) as connection:
        found = trigger.remove(connection, table)
    if not found:
        say.note(f"'{table}' has no trigger of ours")
        return exit.NOTHING_DONE
    click.echo(printable(f"writes to '{table}' need no token any more"))
    return exit.OK


def _needed(each: "Enforcement") -> str:
    return printable(f"a token for '{each.name}'" if each.key is None else f"a token for '{each.name}/<{each.key}>'")


@contextmanager
def _connection(url: str) -> Iterator[Any]:
    from fencepost.core.url import parse_url
    from fencepost.errors import Unavailable

    with exit.usage():
        address = parse_url(url)
    if address.scheme not in ("postgresql", "postgres"):
        raise click.ClickException(f"'{address.scheme}' has no trigger that asks for tokens: use postgresql://…")
    try:
        import psycopg
    except ModuleNotFoundError:
        raise click.ClickException("this needs psycopg: pip install 'fencepost[postgresql]'") from None
    try:
        conninfo = _conninfo(address)
    except psycopg.ProgrammingError:
        raise click.ClickException(f"{address} has an option or a host that PostgreSQL does not know") from None
    try:
        with psycopg.connect(conninfo, autocommit=True) as connection:
            yield connection
    except (LookupError, ValueError) as error:
        raise click.ClickException(str(error)) from error
    except psycopg.Error as error:
        raise Unavailable(f"the database says: {' '.join(str(error).split())}") from error


def _conninfo(address: "Url") -> str:
    """In libpq's words: what it says about a mistyped URL shows the password."""
    from urllib.parse import unquote

    from psycopg.conninfo import make_conninfo

    given = {
        "host": ",".join(unquote(host) for host, _ in address.hosts),
        "port": ",".join(str(port or "") for _, port in address.hosts),
        "user": address.username,
        "password": address.password,
        "dbname": address.path.removeprefix("/"),
    }
    return make_conninfo("", **{word: value for word, value in given.items() if value} | dict(address.options))
