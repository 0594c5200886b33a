"""Where the state file is, and the folder it stands in."""

import os
from pathlib import Path

from fencepost.core.url import Url


def locate(url: Url) -> str:
    """The absolute path that the URL means; without one, the user's own state folder.

    Without symbolic links: gate, mailboxes and counters stand beside the file that SQLite opens, and there is one of
    each however the file is reached.
    """
    url.check_options()
    if url.hosts:
        host = url.hosts[0][0]
        raise ValueError(f"{url} has a host, '{host}': write three slashes, such as sqlite:///var/lib/shop/locks.db")
    if url.path in ("", "/"):
        state = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
        return os.path.realpath(os.path.join(state, "fencepost", "locks.db"))
    return os.path.realpath("/" + url.path.lstrip("/"))


def make_folder(path: str) -> None:
    """A folder for nobody else, if there is none; one that is there stays as it is."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        if not os.path.isdir(path):
            raise NotADirectoryError(20, "is not a folder", path) from None
