"""What the store in Redis sends: its scripts, and the keys of a result and its mark."""

from importlib.resources import files

from fencepost.fences.redis.source import CHECK, mark_key

_LUA = files(__package__)
_GUARDED = _LUA.joinpath("before.lua").read_text() + CHECK
CLAIM = _GUARDED + _LUA.joinpath("claim.lua").read_text()
KEEP = _GUARDED + _LUA.joinpath("keep.lua").read_text()


def keys_of(name: str) -> tuple[str, str]:
    """The mark and the result of a name, in the same cluster slot.

    Not the mark of a fence: that is kept for ever, and this one is forgotten a while after its result.
    """
    fence = mark_key(name)
    return (
        fence.replace("fencepost:fence", "fencepost:result-mark", 1),
        fence.replace("fencepost:fence", "fencepost:result", 1),
    )


def milliseconds(seconds: float) -> int:
    return max(1, int(seconds * 1000))
