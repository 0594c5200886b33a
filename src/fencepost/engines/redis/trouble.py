"""What went wrong with Redis, in words, and whether trying again can help."""

import ssl
from collections.abc import Iterable

from fencepost.engines.redis.resp import ReplyError
from fencepost.errors import EngineError, Refused, Unavailable

# Everything else that a server answers with stays as it is until somebody changes something.
PASSING = {
    "BUSY",
    "CLUSTERDOWN",
    "LOADING",
    "MASTERDOWN",
    "MISCONF",
    "MOVED",
    "ASK",
    "NOREPLICAS",
    "OOM",
    "READONLY",
    "TRYAGAIN",
    "UNBLOCKED",
    "UNKILLABLE",
}
# It has no room for another client now.
CROWDED = "max number of clients"
# What a script is told in whose slot some keys have gone to another server, and others not yet.
MOVING = "attempted to access a non local key"
ADVICE = {
    "NOAUTH": "give a user and password in the URL",
    "WRONGPASS": "check the user and password in the URL",
    "NOPERM": "see docs/engines/redis.md for the rights a user needs",
    "CROSSSLOT": "this is a cluster: use redis+cluster://",
    "READONLY": "this is a replica",
    "WRONGTYPE": "something that is no lock stands under this name: use another prefix",
}


def explain(error: ReplyError, where: object) -> EngineError:
    """What the server's own error means to a caller."""
    code = error.code
    passing = code in PASSING or MOVING in str(error) or CROWDED in str(error)
    kind = Unavailable if passing else Refused
    advice = f" ({ADVICE[code]})" if code in ADVICE else ""
    return kind(f"redis at {where} answered: {error}{advice}")


def unreachable(error: BaseException, where: object, waited: float) -> Unavailable:
    """No answer: what was asked may or may not have happened. `waited`: for how long, which may be less than we would
    have had patience for: the caller may have had no more time.
    """
    if isinstance(error, TimeoutError | BlockingIOError):
        return Unavailable(f"redis at {where} did not answer within {waited:.3g} s")
    found = Unavailable(f"redis at {where} can not be reached: {str(error) or type(error).__name__}")
    if isinstance(error, ssl.SSLError):
        # Of any other nothing more is asked, and it would keep its connection.
        found.__cause__ = error
    return found


def shared_cause(errors: Iterable[EngineError]) -> BaseException | None:
    """Why none of several servers could be reached, if it is about certificates at all of them."""
    causes = [error.__cause__ for error in errors]
    return causes[0] if causes and all(isinstance(cause, ssl.SSLError) for cause in causes) else None


def strange(where: object) -> Unavailable:
    """It answers, but not to what it was asked."""
    return Unavailable(f"redis at {where} gave an answer that makes no sense: is this a Redis server?")
