"""What went wrong with etcd, in words, and whether trying again can help."""

from urllib.parse import unquote

from fencepost.drivers.etcd.http2 import Stream
from fencepost.errors import EngineError, Refused, Unavailable

OK = b"0"
INVALID_ARGUMENT, NOT_FOUND, PERMISSION_DENIED, RESOURCE_EXHAUSTED = 3, 5, 7, 8
FAILED_PRECONDITION, UNIMPLEMENTED, UNAVAILABLE, UNAUTHENTICATED = 9, 12, 14, 16
LASTING = (INVALID_ARGUMENT, PERMISSION_DENIED, FAILED_PRECONDITION, UNIMPLEMENTED, UNAUTHENTICATED)
NO_SPACE = "database space exceeded"
TOO_LARGE = "larger than max"
ADVICE = {
    "user name is empty": "give a user and password in the URL",
    "authentication failed": "check the user and password in the URL",
    "permission denied": "see docs/engines/etcd.md for the rights a user needs",
    "authentication is not enabled": "take the user out of the URL, or enable authentication",
    "too many operations": "ask for fewer names at once, or raise --max-txn-ops, of which each name takes two",
    NO_SPACE: "compact and defragment it, then disarm the alarm",
    "the server ended the call": "is this an etcd server?",
}


class RpcError(Exception):
    """A call that etcd answered with an error: it did not do what was asked, or did not say."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message
        # Which member said so.
        self.where: object = "?"

    def __str__(self) -> str:
        return self.message or f"status {self.code}"

    @property
    def lease_is_gone(self) -> bool:
        return self.code == NOT_FOUND and "lease not found" in self.message

    @property
    def token_is_stale(self) -> bool:
        """The call was not let in for what we said we are: it did not happen, and a new token may help.

        Nothing is said of us in a call that was sent while another was about to get a new token.
        """
        return any(words in self.message for words in ("invalid auth token", "auth store is old", "user name is empty"))

    @property
    def elsewhere(self) -> bool:
        """Whether another member may answer better: this one has no leader, or no say."""
        return self.code == UNAVAILABLE


def result(stream: Stream) -> bytes:
    """The answer of a call that ended."""
    headers = stream.headers
    if headers.get(b"grpc-status") == OK:
        messages = stream.messages()
        if messages:
            return messages[0]
    code = headers.get(b"grpc-status", b"")[:9]
    message = unquote(headers.get(b"grpc-message", b"").decode(errors="replace"))
    if not code.isdigit():
        status = headers.get(b":status", b"200").decode(errors="replace")
        message = message or f"HTTP status {status} instead of an answer"
    raise RpcError(int(code) if code.isdigit() and code != OK else UNAVAILABLE, message or "no answer")


def explain(error: RpcError) -> EngineError:
    """What the server's own error means to a caller."""
    lasting = error.code in LASTING or any(words in error.message for words in (NO_SPACE, TOO_LARGE))
    advice = next((f" ({advice})" for words, advice in ADVICE.items() if words in error.message), "")
    return (Refused if lasting else Unavailable)(f"etcd at {error.where} answered: {error}{advice}")


def unreachable(error: BaseException, where: object, waited: float) -> Unavailable:
    """No answer: what was asked may or may not have happened. `waited`: for how long, which may be less than we would
    have had patience for: the caller may have had no more time.
    """
    if isinstance(error, TimeoutError | BlockingIOError):
        return Unavailable(f"etcd at {where} did not answer within {waited:.3g} s")
    return Unavailable(f"etcd at {where} can not be reached: {str(error) or type(error).__name__}")
