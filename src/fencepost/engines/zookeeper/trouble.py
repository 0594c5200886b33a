"""What went wrong with ZooKeeper, in words, and whether trying again can help."""

from fencepost.engines.zookeeper import jute
from fencepost.errors import EngineError, Refused, Unavailable

# What is over by itself. Everything else stays as it is until somebody changes something.
PASSING = {jute.CONNECTION_LOSS, jute.OPERATION_TIMEOUT, jute.SESSION_MOVED, jute.SESSION_EXPIRED, jute.BAD_VERSION}
WORDS = {
    jute.MARSHALLING: "the request is too long for it",
    jute.UNIMPLEMENTED: "it does not know this request: version 3.6 or later is needed",
    jute.NO_NODE: "the node is gone",
    jute.NO_AUTH: "we have no right to do this: see docs/engines/zookeeper.md for the rights that are needed",
    jute.AUTH_FAILED: "it does not know us: check the user and password in the URL",
    jute.SESSION_EXPIRED: "the session has ended",
    jute.SESSION_MOVED: "the session has moved to another server",
    jute.SESSION_CLOSED_REQUIRE_SASL: "it wants us to say who we are: use ?sasl=DIGEST-MD5 with a user and password",
}


class SessionEnded(Exception):
    """The servers no longer know the session: what was asked on it did not happen, and all its nodes are gone."""


def explain(error: int, where: object) -> EngineError:
    """What an error code means to a caller."""
    kind = Unavailable if error in PASSING else Refused
    return kind(f"zookeeper at {where} answered: {WORDS.get(error, 'error')} ({error})")


def unreachable(error: BaseException, where: object, waited: float) -> Unavailable:
    """No answer: what was asked may or may not have happened. `waited`: for how long, which may be less than we would
    have had patience for: the caller may have had no more time.
    """
    if isinstance(error, TimeoutError | BlockingIOError):
        return Unavailable(f"zookeeper at {where} did not answer within {waited:.3g} s")
    return Unavailable(f"zookeeper at {where} can not be reached: {str(error) or type(error).__name__}")
