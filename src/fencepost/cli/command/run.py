"""`fencepost run`: hold a name while a command runs."""

from typing import TYPE_CHECKING

import click

from fencepost.cli import exit, option, say
from fencepost.cli.complete import complete_command
from fencepost.cli.ground import need_process_groups

if TYPE_CHECKING:
    from fencepost.primitives._sync.acquirable import Acquirable
    from fencepost.primitives._sync.session import Session
    from fencepost.session._sync.grant import Grant


@click.command(
    short_help="Hold a name while a command runs.",
    epilog="Exit codes: the command's own, 128+n if signal n "
    "ended it; 75 not acquired in time, 76 lost while running, 69 engine unavailable, 64 usage, 126 not executable, "
    "127 not found.",
)
@click.argument("name")
@click.argument(
    "command",
    nargs=-1,
    required=True,
    type=click.UNPROCESSED,
    metavar="-- COMMAND...",
    shell_complete=complete_command,
)
@option.url
@click.option(
    "--ttl",
    type=option.seconds,
    default=10.0,
    show_default=True,
    help="How long the lock outlives a holder that vanished.",
)
@click.option("--timeout", type=option.seconds, help="How long to wait for the lock; 0 tries once. Default: for ever.")
@click.option("--skip-if-held", is_flag=True, help="If somebody else holds it: do nothing, and call that a success.")
@click.option("--shared", is_flag=True, help="Hold it as a reader: beside other readers, never beside a writer.")
@click.option(
    "--permits", type=click.IntRange(min=1), metavar="N", help="Hold one of N permits: up to N hold it at once."
)
@click.option(
    "--priority",
    type=click.IntRange(-100, 100),
    default=0,
    metavar="N",
    help="Of those who wait the highest goes first, from -100 to 100; whoever holds it is not disturbed. Default: 0.",
)
@click.option(
    "--once", metavar="ID", help="Do it once and for all: wait for whoever is at it, and skip it if ID was done."
)
@click.option("--every", type=option.seconds, help="Again and again, every so many seconds: one node runs each tick.")
@click.option("--cron", metavar="SCHEDULE", help="The same by a crontab's five fields, in UTC: '0 3 * * *'.")
@click.option("--tick", type=int, hidden=True)
@click.option(
    "--grace",
    type=option.seconds,
    help="On loss: time between SIGTERM and SIGKILL. Default: a fifth of the ttl, at most 5 s.",
)
@click.option("--holder", metavar="LABEL", help="What others see as the holder. Default: host and process id.")
@click.option("--note", metavar="TEXT", default="", help="Shown to whoever looks.")
@option.quiet
def run(
    name: str,
    command: tuple[str, ...],
    url: str | None,
    ttl: float,
    timeout: float | None,
    skip_if_held: bool,
    shared: bool,
    permits: int | None,
    priority: int,
    once: str | None,
    every: float | None,
    cron: str | None,
    tick: int | None,
    grace: float | None,
    holder: str | None,
    note: str,
) -> int:
    """Hold NAME while COMMAND runs, and stop COMMAND if NAME is lost.

    COMMAND finds FENCEPOST_NAME, FENCEPOST_TOKEN and FENCEPOST_URL in its environment. On loss its whole process
    group gets SIGTERM, then SIGKILL, before anybody else can be granted NAME.

    \b
    fencepost run nightly --skip-if-held -- ./report.sh
    fencepost run deploy --timeout 60 -- sh -c './deploy.sh "$FENCEPOST_TOKEN"'
    fencepost run migrate --once v42 -- ./migrate.sh
    fencepost run report --cron '0 3 * * *' -- ./report.sh
    """
    need_process_groups()
    from fencepost.cli.connection import address
    from fencepost.cli.grace import plan
    from fencepost.cli.holding import Order, ordered
    from fencepost.cli.undertaking import undertake

    if skip_if_held and timeout is not None:
        raise click.ClickException("--skip-if-held does not wait: use it or --timeout, not both")
    if once == "":
        raise click.ClickException("--once needs an ID: what is done once has a name, such as a version")
    if sum(given is not None for given in (once, every, cron)) > 1:
        raise click.ClickException("--once, --every and --cron exclude each other: choose one")
    if timeout is not None and (every is not None or cron is not None):
        raise click.ClickException("--timeout is for those who wait, and a tick is for whoever is first: leave it out")
    if shared and (once or every or cron):
        raise click.ClickException("--shared is for readers, and what is done once is not for many: leave one out")
    if permits is not None and (shared or once or every or cron):
        raise click.ClickException(
            "--permits lets several hold the name at once: leave out --shared, --once, --every or --cron"
        )
    if priority and (once or every or cron):
        raise click.ClickException(
            "--priority orders those who wait for a lock, and not what is done once: leave one out"
        )
    with exit.usage():
        order = Order(name, command, address(url), plan(ttl, grace), timeout, skip_if_held, once or tick)
        ordered(order, holder=holder, note=note)
        if every is not None or cron is not None:
            return _repeat(name, command, every, cron)

    def lock(session: "Session") -> "Acquirable[Grant]":
        if shared:
            return session.rwlock(name, priority=priority, note=note).read()
        if permits is not None:
            return session.semaphore(name, limit=permits, priority=priority, note=note)
        return session.lock(name, priority=priority, note=note)

    return undertake(order, lock, ttl=ttl, holder=holder)


def _repeat(name: str, command: tuple[str, ...], every: float | None, cron: str | None) -> int:
    from fencepost.cli.repeat import Repetition
    from fencepost.core import schedule

    chosen = schedule.every(every) if every is not None else schedule.cron(cron or "")
    context = click.get_current_context()
    passed_on = ("url", "ttl", "grace", "holder", "note")
    given = [
        word
        for key in passed_on
        if context.params[key] not in (None, "")
        for word in (f"--{key}", str(context.params[key]))
    ]
    quiet = ["--quiet"] if say.Voice.quiet else []
    return Repetition(chosen, [*given, *quiet, "--", name, *command]).run()
