"""Which process this is: a number that changes in the child of every fork."""

import os

# To be read as `fork.current` where a call would show: an import of the name would keep the parent's.
current = 0


def generation() -> int:
    return current


def _forked() -> None:
    global current
    current += 1


os.register_at_fork(after_in_child=_forked)
