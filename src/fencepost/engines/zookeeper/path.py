"""From the name of a lock to the node its contenders stand under, and back."""

import re
from typing import NamedTuple
from urllib.parse import quote, unquote

from fencepost.core.name import check_name

# What ZooKeeper does not take, what would make another path of it, and the sign that marks what is encoded.
_FOREIGN = re.compile(r"[^ -$&-.0-~\u00a0-\ud7ff]|^\.")
# ZooKeeper's own, at the root.
_RESERVED = "/zookeeper"
AUDIT = ".evictions"
CELLS = ".cells"


def encode(name: str) -> str:
    return _FOREIGN.sub(lambda found: "%2E" if found[0] == "." else quote(found[0], safe=""), name)


class Folder(NamedTuple):
    """Where the locks of one URL stand."""

    prefix: str

    @property
    def path(self) -> str:
        return self.prefix.rpartition("/")[0] or "/"

    @property
    def audit(self) -> bytes:
        return (self.prefix.rpartition("/")[0] + "/" + AUDIT).encode()

    @property
    def cells(self) -> bytes:
        return (self.prefix.rpartition("/")[0] + "/" + CELLS).encode()

    def cell(self, key: str) -> bytes:
        return self.cells + b"/" + encode(key).replace("/", "%2F").encode()

    def lock(self, name: str) -> bytes:
        path = self.prefix + encode(name)
        return (path if path != _RESERVED else "/%7Aookeeper").encode()

    def name(self, child: str) -> str | None:
        """The name of the lock that a child of the folder stands for; None if it is no lock of ours."""
        stem = self.prefix.rpartition("/")[2]
        if not child.startswith(stem) or child in (AUDIT, CELLS) or f"/{child}" == _RESERVED == self.prefix + child:
            return None
        try:
            name = check_name(unquote(child[len(stem) :]))
        except ValueError:
            return None
        # Ours are encoded in one way only.
        return name if self.lock(name).decode() == self.prefix + child[len(stem) :] else None

    def above(self) -> list[bytes]:
        """The folder and all above it, from the root down."""
        parts = self.path.strip("/").split("/")
        return [("/" + "/".join(parts[: depth + 1])).encode() for depth in range(len(parts)) if parts[depth]]
