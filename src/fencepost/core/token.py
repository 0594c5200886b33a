"""Tokens: integers that only grow, for one name, in the order of its grants."""

from fencepost.core.shown import shown

LARGEST = 2**63 - 1


def next_token(last: int, now_us: int) -> int:
    """The token after `last`.

    Following the clock as well as the counter keeps tokens growing when the counter is lost; following
    the counter as well as the clock keeps them growing when the clock is set back.
    """
    return max(last + 1, now_us)


def check_token(token: int) -> int:
    """The token itself, or an error that says what a token is."""
    if isinstance(token, bool) or not isinstance(token, int):
        raise TypeError(f"a token is an integer, not {type(token).__name__}: pass grant.token")
    if not 0 < token <= LARGEST:
        raise ValueError(f"a token lies between 1 and 2**63 - 1, got {shown(token)}")
    return token
