"""`fencepost run`: hold a name while a command runs."""

import os
import signal

import click

from fencepost.cli import exit, option, say


@click.command(
    short_help="Hold a name while a command runs.",
    epilog="Exit codes: the command's own, 128+n if signal n "
    "ended it; 75 not acquired in time, 76 lost while running, 69 engine unavailable, 64 usage, 126 not executable, "
    "127 not found.",
)
@click.argument("name")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- COMMAND...")
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
    """
    from fencepost import connect
    from fencepost.cli.child import Child
    from fencepost.cli.connection import address
    from fencepost.cli.grace import plan
    from fencepost.cli.holding import Order, hold
    from fencepost.cli.inbox import Inbox, Interrupted
    from fencepost.cli.sentinel import Sentinel

    if skip_if_held and timeout is not None:
        raise click.ClickException("--skip-if-held does not wait: use it or --timeout, not both")
    with exit.usage():
        order = Order(name, command, address(url), plan(ttl, grace), timeout, skip_if_held)
    # Both are forks, so they come before the session and its threads.
    child = Child(command, os.environ)
    sentinel = Sentinel(child.group)
    try:
        with Inbox() as inbox:
            with exit.usage():
                session = connect(order.url, ttl=ttl, margin=order.plan.margin, holder=holder)
                lock = session.rwlock(name, note=note).read() if shared else session.lock(name, note=note)
            try:
                return hold(order, session, lock, inbox, child, sentinel)
            finally:
                inbox.collect()
                session.close()
    except Interrupted as error:
        say.note(f"stopped waiting for '{name}': {signal.Signals(error.signum).name}")
        return 128 + error.signum
    finally:
        sentinel.dismiss()
