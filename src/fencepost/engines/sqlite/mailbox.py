"""Letters between engines: datagrams, so that a waiter is told its grant without looking.

A letter is `holder serial token,token`; without tokens it means: look again, and with 0, which is nobody's: soon it
is your turn. A full box loses letters, but then its owner finds it full, and looks for all that it waits for.
"""

import errno
import os
import re
import secrets
import socket
import stat
from pathlib import Path
from typing import NamedTuple

from fencepost._runtime.state import StateLock
from fencepost.engines.sqlite.inheritance import let_go_after_fork
from fencepost.engines.sqlite.location import check_owner, make_folder

LONGEST = 4096
ADDRESS = re.compile("[0-9a-f]{16}")
MOST_ADDRESSES = 64
SOON = (0,)
NOBODY = (errno.ECONNREFUSED, errno.ENOENT)
NO_DESCRIPTOR = (errno.EMFILE, errno.ENFILE)
# A NamedTuple, without the two calls that its own constructor takes.
made = tuple.__new__


class Letter(NamedTuple):
    mailbox: str
    holder: str
    serial: int
    tokens: tuple[int, ...] = ()


def read(text: bytes) -> tuple[tuple[str, int], tuple[int, ...]]:
    """The request a letter is about, and its tokens. Nobody, if it is none of ours."""
    try:
        holder, serial, tokens = text.split(b" ")
        return (holder.decode(), int(serial)), tuple(map(int, tokens.split(b","))) if tokens else ()
    except ValueError:
        return ("", 0), ()


def room() -> int:
    """How many letters a new box holds at least before it is full."""
    try:
        return int(Path("/proc/sys/net/unix/max_dgram_qlen").read_text())
    except (OSError, ValueError):
        return 1


class Mailbox:
    """Sends from the start; receives once it is opened."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.name = ""
        self._directory = -1
        self.room = 1
        self._inbox: socket.socket | None = None
        self._prefix = ""
        # Sockets connected to those we wrote to lately: finding a box by its path takes longer than the letter.
        self._known: dict[str, socket.socket] = {}
        # The descriptor of a socket, for when there is none left for another.
        self._spare = -1
        self._sending = StateLock()
        self._closed = False
        let_go_after_fork(self)

    @property
    def inbox(self) -> socket.socket:
        inbox = self._inbox
        if inbox is None:
            inbox = self._inbox = _socket()
        return inbox

    def fileno(self) -> int:
        return self.inbox.fileno()

    def open(self) -> None:
        """Make the box. The way through /proc keeps the address short, however long the path."""
        self._reach(again=True)
        self.room = room()
        name, inbox = secrets.token_hex(8), _socket()
        inbox.bind(self._prefix + name)
        os.chmod(self._prefix + name, 0o600)
        # Both or neither, and only now: one that was interrupted half-way here could not be made again.
        self._inbox, self.name = inbox, name

    def prepare(self) -> None:
        """Take what sending needs, while there are descriptors left."""
        self._reach()
        if self._spare < 0:
            self._spare = _socket().detach()

    def is_there(self) -> bool:
        return self.has(self.name)

    def has(self, name: str) -> bool:
        """Whether there is such a box, also one that nobody reads. Others find it by its path."""
        return bool(name) and os.path.lexists(f"{self.folder}/{name}")

    def send(self, letter: Letter) -> bool:
        """False if there is nobody at that address any more, or no box."""
        mailbox, holder, serial, tokens = letter
        told = tokens[0] if len(tokens) == 1 else ",".join(map(str, tokens))
        text = f"{holder} {serial} {told}".encode()
        if len(text) >= LONGEST:
            # Nobody would read it to its end, and the kernel may refuse it: the addressee looks for itself.
            text = f"{holder} {serial} ".encode()
        with self._sending:
            known = self._known.get(mailbox)
            if known is not None:
                try:
                    known.send(text, socket.MSG_DONTWAIT)
                    return True
                except OSError:
                    # Gone, or full: the slow way tells which.
                    del self._known[mailbox]
                    known.close()
            return self._closed or self._send_to_stranger(mailbox, text)

    def _send_to_stranger(self, name: str, text: bytes) -> bool:
        if not _is_address(name):
            return False
        try:
            try:
                self._introduce(name).send(text, socket.MSG_DONTWAIT)
            except FileNotFoundError:
                # Is the box gone, or has the folder been made anew?
                self._reach(again=True)
                self._introduce(name).send(text, socket.MSG_DONTWAIT)
            except OSError as error:
                if error.errno not in NO_DESCRIPTOR or self._spare < 0:
                    raise
                spare = socket.socket(fileno=self._spare)
                try:
                    spare.sendto(text, socket.MSG_DONTWAIT, self._prefix + name)
                finally:
                    spare.detach()
        except OSError as error:
            return error.errno not in NOBODY
        return True

    def _introduce(self, name: str) -> socket.socket:
        self._reach()
        if len(self._known) >= MOST_ADDRESSES:
            self._forget()
        outbox = _socket()
        try:
            outbox.connect(self._prefix + name)
        except BaseException:
            outbox.close()
            raise
        self._known[name] = outbox
        return outbox

    def _forget(self) -> None:
        known, self._known = self._known, {}
        for each in known.values():
            each.close()

    def take(self) -> bytes | None:
        """The next letter in the box, or None if there is none."""
        try:
            return self.inbox.recv(LONGEST, socket.MSG_DONTWAIT)
        except OSError:
            return None

    def unlink(self, name: str) -> None:
        if not _is_address(name):
            return
        try:
            self._reach()
            os.unlink(name, dir_fd=self._directory)
        except OSError:
            pass

    def names(self) -> list[str]:
        """Every box there is, in the folder that others find."""
        self._reach(again=True)
        return [name for name in os.listdir(self._directory) if self._is_box(name)]

    def _is_box(self, name: str) -> bool:
        try:
            return stat.S_ISSOCK(os.stat(name, dir_fd=self._directory, follow_symlinks=False).st_mode)
        except OSError:
            return False

    def move_out(self) -> None:
        """Give up a box that somebody deleted; `open` makes another."""
        self.name = ""
        inbox, self._inbox = self._inbox, None
        if inbox is not None:
            inbox.close()

    def close(self) -> None:
        with self._sending:
            self._closed = True
            if self.name:
                self.unlink(self.name)
            self.abandon()

    def abandon(self) -> None:
        self.move_out()
        self._forget()
        kept, self._directory, self._spare = (self._directory, self._spare), -1, -1
        for fd in kept:
            if fd >= 0:
                os.close(fd)

    def _reach(self, *, again: bool = False) -> None:
        if self._directory < 0 or again:
            directory, self._directory = self._directory, -1
            if directory >= 0:
                os.close(directory)
            make_folder(self.folder)
            check_owner(self.folder)
            # Not through a link, which may be somebody else's way to make us clear up elsewhere.
            self._directory = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW)
            self._prefix = f"/proc/self/fd/{self._directory}/"


def _is_address(name: object) -> bool:
    """Whether it is one that `open` makes. Others may have written another way into the file: to anywhere."""
    return isinstance(name, str) and ADDRESS.fullmatch(name) is not None


def _socket() -> socket.socket:
    # Blocking, so that a thread sleeps in the very call that brings the letter.
    return socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
