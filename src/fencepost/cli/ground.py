"""What the commands that run other commands need of the platform."""

import click

from fencepost._runtime.platform import lacking


def need_process_groups() -> None:
    """A usage error where a command and all that it starts can not be stopped together."""
    if lacking("os.fork", "os.killpg", "os.waitpid", "signal.pthread_sigmask", "signal.SIGCHLD", "select.poll"):
        raise click.ClickException(
            "this platform has no process groups, and without them a command could not be stopped when the lock is "
            "lost: hold it in Python, with session.lock()"
        )
