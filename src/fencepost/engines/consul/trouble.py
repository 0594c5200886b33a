"""What went wrong with Consul, in words, and whether trying again can help."""

from fencepost.drivers.consul.http import Response
from fencepost.errors import EngineError, Refused, Unavailable

# By a part of what the agent says.
ADVICE = {
    "ACL not found": "check the token in the URL: consul://:TOKEN@host:8500",
    "Permission denied": "see docs/engines/consul.md for the rights a token needs",
    "Invalid Session TTL": "use a longer ttl, or set session_ttl_min on the servers and in the URL",
    "Missing check": "check the option 'checks' in the URL",
    "No path to datacenter": "check the option 'dc' in the URL",
    "Namespaces are": "leave the option 'ns' out of the URL",
}
# Of what comes with status 500: all else passes, as when there is no leader.
LASTING = ("Invalid Session TTL", "Missing check", "No path to datacenter", "Permission denied", "ACL not found")


def explain(response: Response, where: object) -> EngineError:
    """What an answer other than the expected means to a caller."""
    text = " ".join(response.body.decode(errors="replace").split())[:200] or f"status {response.status}"
    advice = next((f" ({line})" for part, line in ADVICE.items() if part in text), "")
    # 429: more connections than the agent takes from one client.
    passing = response.status >= 500 or response.status == 429
    kind = Unavailable if passing and not any(part in text for part in LASTING) else Refused
    return kind(f"consul at {where} answered: {text}{advice}")


def unreachable(error: BaseException, where: object, waited: float) -> Unavailable:
    """No answer: what was asked may or may not have happened. `waited`: for how long, which may be less than we would
    have had patience for: the caller may have had no more time.
    """
    if isinstance(error, TimeoutError | BlockingIOError):
        return Unavailable(f"consul at {where} did not answer within {waited:.3g} s")
    return Unavailable(f"consul at {where} can not be reached: {str(error) or type(error).__name__}")
