"""Where marks stand and what a refused transaction says."""

from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import quote

from fencepost.errors import Refused
from fencepost.fences.protocol import read_mark

FOLDER = "/fencepost-fence"


class Mark(NamedTuple):
    """The highest token that was shown, and the version of the node it stands in: another mark has another version."""

    token: int
    version: int


def mark_of(path: str, data: bytes | None, version: int) -> Mark:
    """What a node says. Anybody may have written there; None is a node without any data."""
    token = read_mark(data)
    if token is None:
        raise Refused(f"the mark at '{path}' is no token: somebody else has written it")
    return Mark(token, version)


def mark_path(folder: str, name: str) -> str:
    # A sign before it, because ZooKeeper takes no '.' or '..' for a name.
    return f"{folder}/={quote(name, safe='')}"


def failure(results: Sequence[object]) -> tuple[int, Exception] | None:
    """Which step of a transaction failed, and how; None if all were done. kazoo names the others' undoing, too."""
    from kazoo.exceptions import RolledBackError, RuntimeInconsistency

    failed = [(step, result) for step, result in enumerate(results) if isinstance(result, Exception)]
    told = [each for each in failed if not isinstance(each[1], RolledBackError | RuntimeInconsistency)]
    # Undone without a word why is undone as well.
    return next(iter(told or failed), None)


def says_changed(step: int, error: Exception) -> bool:
    """Whether the mark, which is the first step, was not as it was seen. Anything else will be so again."""
    from kazoo.exceptions import BadVersionError, NodeExistsError, NoNodeError

    return step == 0 and isinstance(error, BadVersionError | NodeExistsError | NoNodeError)
