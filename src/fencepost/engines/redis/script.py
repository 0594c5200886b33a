"""The Lua scripts: put together from their files, called by digest."""

from hashlib import sha1
from importlib.resources import files

from fencepost.engines.redis.resp import bulk, pack
from fencepost.engines.redis.shape import (
    Shape,
    are_numbers,
    are_texts,
    is_cell,
    is_claim,
    is_full_claim,
    is_number,
    is_renewal,
    is_sight,
    is_version,
)

_FOLDER = files(__package__).joinpath("lua")


class Script:
    """One script. `head(keys, arguments)` is the start of its call, to be followed by that many bulks.

    `fits` says whether a reply can be its answer. Where it `counts`, any number can.
    """

    __slots__ = ("_start", "counts", "fits", "load", "name", "source")

    def __init__(self, *pieces: str, fits: Shape = is_number) -> None:
        self.name = pieces[0]
        self.fits = fits
        self.counts = fits in (is_number, is_claim)
        self.source = "".join(_FOLDER.joinpath(f"{piece}.lua").read_text() for piece in pieces).encode()
        digest = sha1(self.source, usedforsecurity=False).hexdigest().encode()
        self.load = pack("SCRIPT", "LOAD", self.source)
        self._start = bulk(b"EVALSHA") + bulk(digest)

    def head(self, keys: int, arguments: int) -> bytes:
        return b"*%d\r\n%b%b" % (3 + keys + arguments, self._start, bulk(b"%d" % keys))

    def pack(self, keys: list[bytes], *arguments: bytes | str | int) -> bytes:
        """A whole call."""
        words = [*keys, *(word if isinstance(word, bytes) else str(word).encode() for word in arguments)]
        return self.head(len(keys), len(arguments)) + b"".join(map(bulk, words))


CLAIM = Script("claim", "leased", "queue", "enter", fits=is_claim)
ASK = Script("ask", "leased", "queue", "enter", fits=is_full_claim)
RELEASE = Script("release", "leased", "queue", "hand_over")
RELEASE_ALL = Script("give_back", "leased", "queue", "give_back_all", fits=are_numbers)
LEAVE = Script("leave", "leased", "queue", "leave_all")
OPEN = Script("open")
RENEW = Script("renew", fits=is_renewal)
LOOK = Script("look", fits=is_sight)
NAMES = Script("names", fits=are_texts)
EVICT = Script("evict", "leased", "queue", "take_away", fits=are_texts)
SHARE = Script("share", "leased", "queue", "open_up")
CELL_WRITE = Script("cell_write", fits=is_version)
CELL_WATCH = Script("cell_watch", fits=is_cell)
METER = Script("meter")
