"""Versions: how often something was changed, counted from 0."""

from fencepost.core.shown import shown

LARGEST = 2**63 - 1


def check_version(version: int, what: str) -> int:
    """The version itself, or an error that says what to change: no database has larger numbers."""
    if not isinstance(version, int) or isinstance(version, bool):
        raise TypeError(f"{what} is a whole number, not {shown(version)}")
    if not 0 <= version <= LARGEST:
        raise ValueError(f"{what} lies between 0 and 2**63 - 1, got {shown(version)}")
    return version
