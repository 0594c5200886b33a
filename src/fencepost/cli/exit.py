"""Exit codes: those of sysexits.h where one fits, and those of shells for what became of the child."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager

import click

from fencepost.errors import AcquireTimeout, FencepostError, NotHeld, Unsupported

OK = 0
NOTHING_DONE = 1
USAGE = 64
UNAVAILABLE = 69
BUG = 70
NOT_ACQUIRED = 75
LOST = 76
NOT_EXECUTABLE = 126
NOT_FOUND = 127
INTERRUPTED = 128 + signal.SIGINT
# Not every platform has the signal.
BROKEN_PIPE = 128 + getattr(signal, "SIGPIPE", 13)


def code_for(error: FencepostError) -> int:
    match error:
        case AcquireTimeout():
            return NOT_ACQUIRED
        case NotHeld():
            return LOST
        case Unsupported():
            return USAGE
        case _:
            return UNAVAILABLE


def code_of_child(status: int) -> int:
    """From a wait status to what a shell would say: 128 + n for a death by signal n."""
    from os import waitstatus_to_exitcode

    code = waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


@contextmanager
def usage() -> Iterator[None]:
    """What the library says about bad arguments is a usage error here; elsewhere a ValueError is a bug."""
    try:
        yield
    except (ValueError, TypeError, Unsupported) as error:
        if isinstance(error, FencepostError) and not isinstance(error, Unsupported):
            # What a server has sent, and could not be read.
            raise
        raise click.ClickException(str(error)) from error
