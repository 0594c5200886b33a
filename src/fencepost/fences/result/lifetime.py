"""What is kept as a result, and for how long; and how long its mark is remembered after that."""

from fencepost.core.duration import check_timeout
from fencepost.core.name import check_text

# A worker that is paused for longer than this, and wakes up after its result has expired, is not known any more.
MARK_OUTLIVES = 7 * 86_400.0
# In characters. What stores take differs, and is more than that.
MOST_RESULT = 16 << 20


def check_result(value: str, expires_in: float | None) -> float | None:
    """For how long it is to be kept. Errors say what to change, before anything is sent."""
    check_text(value, "a result", MOST_RESULT)
    return check_timeout(expires_in, "expires_in")
