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


def check_owner(*paths: str) -> None:
    """`Refused` if one of these is somebody else's, in a folder that everybody may write: whose it is may change it.

    One that is not there yet is looked at once it is. A folder that only a group shares is left to that group.
    """
    for path in paths:
        try:
            owner, folder = os.lstat(path).st_uid, os.stat(os.path.dirname(path))
        except OSError:
            # Not there, or out of reach: whoever opens it finds out.
            continue
        if folder.st_mode & stat.S_IWOTH and owner not in trusted():
            raise Refused(
                f"'{path}' belongs to another user, in a folder that everybody may write: make a folder of your own, "
                "and give a path in it"
            )


def trusted() -> tuple[int, int]:
    """Whose files are as good as our own."""
    return 0, os.geteuid()


def make_folder(path: str) -> None:
    """A folder for nobody else, if there is none; one that is there stays as it is."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        if not os.path.isdir(path):
            raise NotADirectoryError(20, "is not a folder", path) from None
