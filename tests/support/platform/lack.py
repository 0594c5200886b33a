"""Taking away what other platforms do not have, before anything of fencepost is imported.

It shows what runs without these calls. It does not show how those platforms behave otherwise.
"""

import select
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

MACOS = {
    "select": ("epoll", "EPOLLIN", "EPOLLRDHUP", "EPOLLHUP", "EPOLLERR", "POLLRDHUP"),
    "os": ("eventfd", "eventfd_read", "eventfd_write", "EFD_NONBLOCK", "pidfd_open", "pipe2", "sched_getaffinity"),
    "time": ("CLOCK_BOOTTIME",),
    "socket": ("TCP_INFO",),
    "fcntl": ("F_OFD_SETLK",),
}
WINDOWS = {
    "select": (*MACOS["select"], "poll", "POLLIN", "POLLOUT", "POLLHUP", "POLLERR", "POLLNVAL"),
    "os": (
        *MACOS["os"],
        *("register_at_fork", "fork", "killpg", "setsid", "getpgrp", "waitid", "WNOHANG"),
        *("getuid", "geteuid", "fchown", "fchmod", "O_CLOEXEC", "O_NOFOLLOW", "O_DIRECTORY", "O_NONBLOCK"),
    ),
    "time": ("CLOCK_BOOTTIME", "CLOCK_MONOTONIC", "clock_gettime"),
    # The last two are there on Windows, and take something else than the `struct timeval` of all others.
    "socket": ("TCP_INFO", "MSG_DONTWAIT", "AF_UNIX", "SO_RCVTIMEO", "SO_SNDTIMEO"),
    "signal": (
        *("pthread_sigmask", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGCHLD", "SIGPIPE", "SIGKILL"),
        *("SIGTSTP", "SIGCONT", "SIGTTOU", "SIGTTIN", "SIGALRM"),
    ),
}
PLATFORMS = {"macos": MACOS, "windows": WINDOWS}


def remove(platform: str) -> None:
    lacking = PLATFORMS[platform]
    assert "selectors" not in sys.modules, "it has chosen how to wait already"
    _take("select", lacking)
    # They choose how to wait by what there is now. What else they have of Linux, they may keep.
    import asyncio  # noqa: F401
    import ctypes
    import os
    import socket

    for module in lacking:
        _take(module, lacking)
    if platform == "macos":
        ctypes.CDLL.prctl = property(_no_prctl)  # type: ignore[attr-defined]
    else:
        for module in ("fcntl", "pwd", "grp", "termios"):
            sys.modules[module] = None  # type: ignore[assignment]
        socket.socketpair = _pair  # type: ignore[assignment]
        os.dup = _not_for_sockets(os.dup)
        os.close = _not_for_sockets(os.close)  # type: ignore[assignment]
    assert not hasattr(select, "epoll")


def _take(module: str, lacking: dict[str, tuple[str, ...]]) -> None:
    found = import_module(module)
    for name in lacking[module]:
        if hasattr(found, name):
            delattr(found, name)


def _no_prctl(library: object) -> Any:
    raise AttributeError("prctl")


def _pair() -> Any:
    """By loopback, as Windows makes one."""
    import socket

    with socket.create_server(("127.0.0.1", 0)) as listener:
        near = socket.create_connection(listener.getsockname())
        far, _ = listener.accept()
    return near, far


def _not_for_sockets(call: Callable[[int], Any]) -> Callable[[int], Any]:
    """The number of a socket is no descriptor of a file on Windows."""
    import errno
    import os
    import stat

    def refusing(fd: int) -> Any:
        if stat.S_ISSOCK(os.fstat(fd).st_mode):
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        return call(fd)

    return refusing
