"""Events that nobody should miss go to the standard log, under the logger `fencepost`."""

import logging

from fencepost.core import event

logger = logging.getLogger("fencepost")
LOUD = (event.Jeopardy, event.Recovered, event.Lost, event.LeaseLost, event.Unsettled, event.Evicted)


def write(happened: event.Event) -> None:
    match happened:
        case event.Jeopardy(holder=holder, reason=reason, remaining=remaining):
            logger.warning("%s: renewal failed, lease proven for %.3f s more: %s", holder, remaining, reason)
        case event.Recovered(holder=holder):
            logger.warning("%s: renewals work again, nothing was lost", holder)
        case event.Lost(holder=holder, name=name, token=token, reason=reason):
            logger.error("%s: lost '%s' (token %d): %s", holder, name, token, reason)
        case event.LeaseLost(holder=holder, reason=reason):
            logger.error("%s: lease lost: %s", holder, reason)
        case event.Unsettled(holder=holder, names=names, reason=reason):
            logger.warning("%s: giving back %s is not confirmed yet: %s", holder, ", ".join(names), reason)
        case event.Evicted(name=name, token=token, evicted=evicted, by=by):
            logger.warning("'%s' (token %d) taken from %s by %s", name, token, evicted, by)
        case _:
            logger.info("%s", happened)
