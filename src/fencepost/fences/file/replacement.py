"""Replacing a file's content whole or not at all."""

import os
from stat import S_IMODE


def replace(path: str, data: bytes, *, spare: str, like: os.stat_result) -> None:
    """Put `data` at `path` with the permissions of `like`; when this returns it has reached the disk.

    A crash at any instant leaves the old content or the new, never a mixture. It may leave a file at `spare`,
    which the next call removes; only one process at a time may use the same spare.
    """
    _remove(spare)
    try:
        with open(spare, "xb", opener=_private) as file:
            adopt(file.fileno(), like, S_IMODE(like.st_mode))
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(spare, path)
    except BaseException:
        _remove(spare)
        raise
    # A rename is on disk only when its folder is.
    folder = os.open(os.path.dirname(path), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def adopt(descriptor: int, like: os.stat_result, mode: int) -> None:
    """Give an open file the group, the mode and, where we may, the owner of another."""
    own = os.fstat(descriptor)
    if (own.st_uid, own.st_gid) != (like.st_uid, like.st_gid):
        try:
            os.fchown(descriptor, like.st_uid, like.st_gid)
        except PermissionError:
            # Only root gives files away. The group has to stay, or the mode would open the file to another.
            os.fchown(descriptor, -1, like.st_gid)
    if S_IMODE(own.st_mode) != mode:
        os.fchmod(descriptor, mode)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_CLOEXEC, 0o600)


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass
