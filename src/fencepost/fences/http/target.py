"""Which path a request is about, if that can be told for sure.

Servers do not agree on what a path means: some drop `.` and `..`, some fold `//`, some decode twice, some cut off what
follows a semicolon. A path that they may take for another one has more than one name, and a stale token that is refused
under the first would pass under the second.
"""

import re
from urllib.parse import quote, unquote_to_bytes

_ENCODED = re.compile(r"%[0-9A-Fa-f]{2}")
_BROKEN = re.compile(rb"%(?![0-9A-Fa-f]{2})")
_DOUBTFUL = re.compile(r"[\x00-\x1f\x7f\\;]")
# What a path may hold besides letters, digits and the marks that are never quoted.
_PLAIN = "/:@!$&'()*+,="


def meant(raw: bytes) -> str | None:
    """The path, decoded, that every server takes `raw` for; None if there is none."""
    if not raw.startswith(b"/") or not raw.isascii() or _BROKEN.search(raw):
        return None
    try:
        path = unquote_to_bytes(raw).decode()
    except UnicodeDecodeError:
        return None
    segments = path.split("/")[1:]
    if _DOUBTFUL.search(path) or _ENCODED.search(path) or len(segments) != raw.count(b"/"):
        return None
    return None if "" in segments[:-1] or "." in segments or ".." in segments else path


def spelled(path: str) -> str:
    """The one way in which a path is passed on."""
    return quote(path, safe=_PLAIN)
