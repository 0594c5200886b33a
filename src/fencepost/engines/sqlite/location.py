"""Where the state file is, and the folder it stands in."""

import os
import stat
from pathlib import Path

from fencepost.core.url import Url
from fencepost.errors import Refused


def locate(url: Url) -> str:
    """The absolute path that the URL means; without one, the user's own state folder.

    Without symbolic links: gate, mailboxes and counters stand beside the file that SQLite opens, and there is one of
    each however the file is reached.
    """
    url.check_options()
    if url.hosts:
        host = url.shown(url.hosts[0][0])
        raise ValueError(f"{url} has a host, {host}: write three slashes, such as sqlite:///var/lib/shop/locks.db")
    if url.path in ("", "/"):
        state = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
        return _resolved(os.path.join(state, "fencepost", "locks.db"))
    return _resolved("/" + url.path.lstrip("/"))


def _resolved(path: str) -> str:
    """As the kernel says (`fs.protected_symlinks`): where anybody may put a link, somebody else's is not followed."""
    if os.path.islink(path):
        link, folder = os.lstat(path), os.stat(os.path.dirname(path))
        anybody = stat.S_ISVTX | stat.S_IWOTH
        if folder.st_mode & anybody == anybody and link.st_uid not in (os.geteuid(), folder.st_uid):
            raise Refused(f"lock state '{path}' is a link of somebody else's: choose another path")
    return os.path.realpath(path)


def make_folder(path: str) -> None:
    """A folder for nobody else, if there is none; one that is there stays as it is."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        if not os.path.isdir(path):
            raise NotADirectoryError(20, "is not a folder", path) from None
