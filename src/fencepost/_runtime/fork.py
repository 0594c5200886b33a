"""Which process this is: a number that changes in the child of every fork."""

import os

_generation = 0


def generation() -> int:
    return _generation


def _forked() -> None:
    global _generation
    _generation += 1


os.register_at_fork(after_in_child=_forked)
