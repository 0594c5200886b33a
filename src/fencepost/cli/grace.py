"""How long a command may take to end after its lock is lost: it must be dead before anybody else is granted.

    proven                         told             killed    the engine may grant another
     |———————————— span ————————————|———— grace ————|— safety —|
                                    SIGTERM         SIGKILL

Grace and safety together are the margin of the session: it is told of the loss that much before the lease ends.
"""

from typing import NamedTuple

SHARE = 0.2
LONGEST_DEFAULT = 5.0
LONGEST_SHARE = 0.5
SAFETY_SHARE = 0.1
MOST_SAFETY = 0.5


class Plan(NamedTuple):
    ttl: float
    grace: float
    safety: float

    @property
    def margin(self) -> float:
        return self.grace + self.safety


def plan(ttl: float, grace: float | None) -> Plan:
    """The grace asked for, or a sensible one; ValueError if it does not fit into the ttl."""
    if ttl <= 0:
        raise ValueError("--ttl must be more than 0 s: it is how long the lock outlives a dead holder")
    if grace is None:
        grace = min(ttl * SHARE, LONGEST_DEFAULT)
    elif grace > ttl * LONGEST_SHARE:
        raise ValueError(
            f"--grace {grace:g} s is too long for --ttl {ttl:g} s: the command must be dead before the lease ends, "
            f"so use a grace of at most {ttl * LONGEST_SHARE:g} s or a ttl of at least {grace / LONGEST_SHARE:g} s"
        )
    return Plan(ttl, grace, min(ttl * SAFETY_SHARE, MOST_SAFETY))


def kill_at(proven_until: float, now: float, grace: float) -> float:
    """When SIGKILL is due. The grace counts from the end of the proof, however late that was noticed.

    A lock that was taken from a living lease ended at a time unknown: its grace counts from now.
    """
    return min(proven_until, now) + grace
