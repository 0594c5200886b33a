"""Events that nobody should miss go to the standard log, under the logger `fencepost`."""

import logging

from fencepost.core import event
from fencepost.core.name import listed
from fencepost.errors import printable

logger = logging.getLogger("fencepost")
# What happens all the time: made only where somebody wants to read it.
QUIET = (event.Granted, event.Waiting, event.Released)
LOUD = (event.Jeopardy, event.Recovered, event.Lost, event.LeaseLost, event.Unsettled, event.Evicted)


def kinds() -> tuple[type[event.Event], ...]:
    """What is to be written: more, where the log is set to DEBUG by then."""
    return (*LOUD, *QUIET) if logger.isEnabledFor(logging.DEBUG) else LOUD


def write(happened: event.Event) -> None:
    """One line for each, whatever stands in names and labels."""
    match happened:
        case event.Jeopardy(holder=holder, reason=reason, remaining=remaining):
            _log(logging.WARNING, "%s: renewal failed, lease proven for %.3f s more: %s", holder, remaining, reason)
        case event.Recovered(holder=holder):
            _log(logging.WARNING, "%s: renewals work again, nothing was lost", holder)
        case event.Lost(holder=holder, name=name, token=token, reason=reason):
            _log(logging.ERROR, "%s: lost '%s' (token %d): %s", holder, name, token, reason)
        case event.LeaseLost(holder=holder, reason=reason):
            _log(logging.ERROR, "%s: lease lost: %s", holder, reason)
        case event.Unsettled(holder=holder, names=names, reason=reason):
            _log(logging.WARNING, "%s: giving back %s is not confirmed yet: %s", holder, listed(names), reason)
        case event.Evicted(name=name, token=token, evicted=evicted, by=by):
            _log(logging.WARNING, "'%s' (token %d) taken from %s by %s", name, token, evicted, by)
        case event.Granted(holder=holder, name=name, token=token, waited=waited):
            _log(logging.DEBUG, "%s: granted '%s' (token %d) after %.3f s", holder, name, token, waited)
        case event.Waiting(holder=holder, names=names):
            _log(logging.DEBUG, "%s: waiting for %s", holder, listed(names))
        case event.Released(holder=holder, name=name, token=token, held=held):
            _log(logging.DEBUG, "%s: released '%s' (token %d) after %.3f s", holder, name, token, held)
        case _:
            _log(logging.INFO, "%s", str(happened))


def _log(level: int, words: str, *values: object) -> None:
    logger.log(level, words, *(printable(value) if isinstance(value, str) else value for value in values))
