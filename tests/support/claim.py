"""A claim as whoever was granted it has it."""

from fencepost.core.claim import Claim


class GrantedClaim(Claim):
    """One with a token."""

    token: int
