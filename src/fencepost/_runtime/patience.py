"""What a server's silence says about it."""


def is_proof(waited: float, patience: float) -> bool:
    """Whether it is not there, as far as one can tell: a caller with little time would have left one that is, too."""
    return waited >= patience / 2
