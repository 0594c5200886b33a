"""Events that nobody should miss go to the standard log, under the logger `fencepost`."""

import logging

from fencepost.core import event
from fencepost.errors import printable

logger = logging.getLogger("fencepost")
LOUD = (event.Jeopardy, event.Recovered, event.Lost, event.LeaseLost, event.Unsettled, event.Evicted)


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
            _log(logging.WARNING, "%s: giving back %s is not confirmed yet: %s", holder, ", ".join(names), reason)
        case event.Evicted(name=name, token=token, evicted=evicted, by=by):
            _log(logging.WARNING, "'%s' (token %d) taken from %s by %s", name, token, evicted, by)
        case _:
            _log(logging.INFO, "%s", str(happened))


def _log(level: int, words: str, *values: object) -> None:
    logger.log(level, words, *(printable(value) if isinstance(value, str) else value for value in values))
