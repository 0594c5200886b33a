"""The command that runs: a process group of its own, and the reaping of whoever is left to us."""

import errno
import os
import signal
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NoReturn

# Python ignores these for its own sake; a command expects to find them as usual.
RESET = (signal.SIGPIPE, signal.SIGXFSZ)
PR_SET_CHILD_SUBREAPER = 36


class Child:
    """A process that waits for the word to become the command.

    It is made before there is a lock, so before any thread, because it is a fork; and so that its group can be
    guarded, and lent the terminal, before the command runs. If we die without a word, it just ends.

    `status` is None until the command itself has ended; its group may live on.
    """

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], mask: Collection[int]) -> None:
        """`mask` are the signals that the command is to find blocked."""
        word_in, self._word = os.pipe()
        self._trouble, trouble_out = os.pipe()
        self.group = os.fork()
        if self.group == 0:
            os.close(self._word)
            _wait_and_become(command, environment, mask, word_in, trouble_out)
        os.close(word_in)
        os.close(trouble_out)
        os.setpgid(self.group, self.group)
        self.status: int | None = None
        self.stopped_by: int | None = None

    def start(self, **environment: str) -> None:
        """Become the command, with these added to its environment. OSError says why that could not be."""
        try:
            os.write(self._word, b"".join(os.fsencode(f"{key}={value}\0") for key, value in environment.items()))
        except BrokenPipeError:
            # Somebody killed it: its status will say so.
            pass
        os.close(self._word)
        # Closed by the kernel when the command takes over.
        with open(self._trouble) as trouble:
            if number := trouble.read():
                raise OSError(int(number), os.strerror(int(number)))

    @property
    def ended(self) -> bool:
        return self.status is not None

    def reap(self) -> None:
        """Take note of what became of the command, and bury every orphan that was left to us."""
        for pid, status in _changes():
            if pid == self.group:
                if os.WIFSTOPPED(status):
                    self.stopped_by = os.WSTOPSIG(status)
                else:
                    self.status = status

    def send(self, signum: int) -> None:
        """To the whole group."""
        try:
            os.killpg(self.group, signum)
        except (ProcessLookupError, PermissionError):
            # Nobody is left, or nobody whom we may signal.
            pass

    def is_gone(self) -> bool:
        """Whether nobody of the group is left."""
        if not self.ended:
            return False
        try:
            os.killpg(self.group, 0)
        except ProcessLookupError:
            return True
        except PermissionError:
            pass
        return False


def _wait_and_become(
    command: Sequence[str], environment: Mapping[str, str], mask: Collection[int], word_in: int, trouble_out: int
) -> NoReturn:
    # Whoever ends here without becoming the command has to say why: else its end would look like the command's.
    try:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        with open(word_in, "rb") as words:
            added = dict(os.fsdecode(each).split("=", 1) for each in words.read().split(b"\0") if each)
        if added:
            for signum in RESET:
                signal.signal(signum, signal.SIG_DFL)
            os.execvpe(command[0], list(command), {**environment, **added})
    except BaseException as error:
        os.write(trouble_out, str(getattr(error, "errno", None) or errno.EINVAL).encode())
    finally:
        os._exit(0)


def adopt_orphans() -> None:
    """Whoever is orphaned below us is left to us, as if we were PID 1, so that we know when the last one has ended.

    Inits that do not bury their dead are common in containers, and a zombie can not be told from a living process
    by its group. Where the kernel does not know this, all works, but such zombies cost the full grace.
    """
    import ctypes

    try:
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    except (OSError, AttributeError):
        pass


def _changes() -> Iterator[tuple[int, int]]:
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG | os.WUNTRACED)
        except ChildProcessError:
            return
        if pid == 0:
            return
        yield pid, status
