"""From names to keys and back.

A name's lock is the key `<prefix><name>/.lock`, as `consul lock <prefix><name>` has it. Whoever waits for it or
shares it has a key below that one: `<prefix><name>/.lock/<holder>-<serial>`. Names are any text and paths are not, so
what a path can not hold is written as ~XX, and so is '~' itself. No two names have the same key.
"""

import re
from functools import lru_cache

LOCK = "/.lock"
AUDIT = ".fencepost/audit"
LEASE = ".fencepost/lease/"
CELL = ".fencepost/cell/"
# An agent refuses paths with characters that do not print, and cleans '', '.' and '..' out of them. Since 1.22 it also
# refuses to list or watch what begins with a space; and, where a key has a '%', what it stands for in an address.
_UNSAFE = re.compile(r"[^ -$&-}\w]")
_ESCAPED = re.compile(r"(?:~[0-9A-F]{2})+")


def path_of(name: str) -> str:
    path = "/".join(_segment(part) for part in name.split("/"))
    return f"~20{path[1:]}" if path.startswith(" ") else path


def name_of(path: str) -> str:
    return _ESCAPED.sub(_unescape, path).replace("\0", "")


@lru_cache(maxsize=10_000)
def lock_of(prefix: str, name: str) -> str:
    return f"{prefix}{path_of(name)}{LOCK}"


def place_of(lock: str, holder: str, serial: int) -> str:
    return f"{lock}/{holder}-{serial}"


def split(prefix: str, key: str) -> str | None:
    """The lock that a key is or belongs to, if it is any of that."""
    if not key.startswith(prefix):
        return None
    head, found, rest = key.partition(LOCK)
    return head + found if found and rest[:1] in ("", "/") else None


def _segment(part: str) -> str:
    if not part:
        # No name has a NUL.
        return "~00"
    text = _UNSAFE.sub(lambda found: "".join(f"~{byte:02X}" for byte in found[0].encode()), part)
    # Neither '.' and '..' nor anything that could be taken for a key of ours.
    return "~2E" + text[1:] if text in (".", "..") or text.startswith((".lock", ".fencepost")) else text


def _unescape(found: re.Match[str]) -> str:
    return bytes.fromhex(found[0].replace("~", "")).decode(errors="replace")
