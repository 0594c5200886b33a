"""`fencepost elect`: run a command while leading, or see who leads."""

import json
from typing import TYPE_CHECKING

import click

from fencepost.cli import exit, option, say
from fencepost.cli.complete import complete_command
from fencepost.cli.connection import complete_name, onlooker
from fencepost.cli.ground import need_process_groups
from fencepost.errors import printable

if TYPE_CHECKING:
    from fencepost.core.election import Leader


@click.command(
    short_help="Run a command while leading, or see who leads.",
    epilog="Exit codes as for 'fencepost run'; without a command: 0 if somebody leads, 1 if nobody does.",
)
@click.argument("name", shell_complete=complete_name)
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="[-- COMMAND...]", shell_complete=complete_command)
@option.url
@click.option("--value", metavar="TEXT", default="", help="What the leader says of itself, such as its address.")
@click.option(
    "--observe", is_flag=True, help="Print every leader, one line each, as they come, and say when nobody leads."
)
@click.option(
    "--ttl", type=option.seconds, default=10.0, show_default=True, help="How long a leader that vanished leads on."
)
@click.option("--timeout", type=option.seconds, help="How long to wait to be elected; 0 tries once. Default: for ever.")
@click.option("--grace", type=option.seconds, help="On loss: time between SIGTERM and SIGKILL, as for 'run'.")
@click.option("--holder", metavar="LABEL", help="What others see as the leader. Default: host and process id.")
@option.as_json
@option.quiet
def elect(
    name: str,
    command: tuple[str, ...],
    url: str | None,
    value: str,
    observe: bool,
    ttl: float,
    timeout: float | None,
    grace: float | None,
    holder: str | None,
    as_json: bool,
) -> int:
    """Campaign for NAME, and run COMMAND while leading. Without COMMAND: say who leads.

    COMMAND finds the term in FENCEPOST_TOKEN. When the lead is lost, COMMAND is stopped before another can lead.

    \b
    fencepost elect scheduler --value "$(hostname):8080" -- ./scheduler.sh
    fencepost elect scheduler
    fencepost elect scheduler --observe --json
    """
    if not command:
        return _observe(name, url, as_json) if observe else _show(name, url, as_json)
    if observe:
        raise click.UsageError("--observe only looks: give it or a COMMAND, not both")
    need_process_groups()
    from fencepost.cli.connection import address
    from fencepost.cli.grace import plan
    from fencepost.cli.holding import Order, ordered
    from fencepost.cli.undertaking import undertake
    from fencepost.core.name import MOST_DATA, check_text

    with exit.usage():
        order = Order(name, command, address(url), plan(ttl, grace), timeout, skip=False)
        ordered(order, holder=holder)
        check_text(value, "the value of a leader", MOST_DATA)
    return undertake(order, lambda session: session.election(name, value=value), ttl=ttl, holder=holder)


def _show(name: str, url: str | None, as_json: bool) -> int:
    with onlooker(url) as session, exit.usage():
        leader = session.election(name).leader()
    _print(name, leader, as_json)
    return exit.NOTHING_DONE if leader is None else exit.OK


def _observe(name: str, url: str | None, as_json: bool) -> int:
    with onlooker(url) as session, exit.usage():
        for leader in session.election(name).observe():
            if not as_json and leader is not None and leader.missed:
                say.note(f"{leader.missed} changes were missed")
            _print(name, leader, as_json)
    return exit.OK


def _print(name: str, leader: "Leader | None", as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(None if leader is None else leader._asdict()))
    elif leader is None:
        say.note(f"nobody leads '{name}'")
    else:
        click.echo(_line(leader))


def _line(leader: "Leader") -> str:
    value = f" {printable(leader.value)}" if leader.value else ""
    return f"{leader.term} {printable(leader.holder)}{value}"
