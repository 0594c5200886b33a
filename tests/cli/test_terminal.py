"""`fencepost` on a terminal."""

import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import fencepost
from tests.support.cli.program import FENCEPOST, PATIENCE, Program, children, ends, eventually

# A session of its own, with the terminal on standard input as its controlling one.
LOG_IN = """
import fcntl, os, sys, termios
os.setsid()
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execvp(sys.argv[1], sys.argv[1:])
"""
# What an interactive shell does with a job: runs it in the foreground, and when it stops, continues it on demand.
SHELL = """
import os, signal, sys
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
job = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, setpgroup=0, setsigdef=[signal.SIGTTOU])
os.tcsetpgrp(0, job)
status = os.waitpid(job, os.WUNTRACED)[1]
if os.WIFSTOPPED(status):
    os.tcsetpgrp(0, os.getpgrp())
    print("job stopped", flush=True)
    input()
    os.tcsetpgrp(0, job)
    os.killpg(job, signal.SIGCONT)
    status = os.waitpid(job, 0)[1]
sys.exit(os.waitstatus_to_exitcode(status))
"""
# Neither reads from the terminal nor cares who has it.
BUSY = """
import os, signal, sys, time
# Not by `print`, which cannot be entered again from within itself: the second SIGCONT may come in the first.
signal.signal(signal.SIGCONT, lambda *_: os.write(2, b"went on\\n"))
try:
    os.write(2, b"up %d .\\n" % os.getpid())
    time.sleep(60)
except KeyboardInterrupt:
    sys.exit(3)
"""
IN_FOREGROUND = """
import os, time
until = time.monotonic() + 10
while os.tcgetpgrp(0) != os.getpgrp() and time.monotonic() < until:
    time.sleep(0.005)
print("foreground", os.tcgetpgrp(0) == os.getpgrp())
"""


class Desk:
    """A terminal with somebody at it."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._keyboard, self._line = pty.openpty()
        self.screen = ""

    def log_in(self, *command: str, **more: Any) -> subprocess.Popen[str]:
        ends: dict[str, Any] = {"stdin": self._line, "stdout": self._line, "stderr": self._line}
        return self._program.start(*command, command=(sys.executable, "-c", LOG_IN), **{**ends, **more})

    def type(self, text: str) -> None:
        os.write(self._keyboard, text.encode())

    def see(self, text: str) -> None:
        """Wait until it is on the screen."""
        self.see_that(lambda: text in self.screen, text)

    def see_that(self, so: Callable[[], bool], text: str = "it") -> None:
        until = time.monotonic() + PATIENCE
        while not so():
            ready, _, _ = select.select([self._keyboard], [], [], max(0.0, until - time.monotonic()))
            assert ready, f"{text!r} did not come, only {self.screen!r}"
            self.screen += os.read(self._keyboard, 4096).decode()

    def leave(self) -> None:
        os.close(self._keyboard)
        os.close(self._line)


@pytest.fixture
def desk(program: Program) -> Iterator[Desk]:
    desk = Desk(program)
    yield desk
    program.end()
    desk.leave()


def test_the_command_gets_the_foreground(desk: Desk) -> None:
    running = desk.log_in(*FENCEPOST, "run", "a", "--", sys.executable, "-c", IN_FOREGROUND)
    desk.see("foreground True")
    assert ends(running) == 0


def test_ctrl_c_reaches_the_command_and_the_lock_is_freed(desk: Desk, session: fencepost.Session) -> None:
    patient = "trap 'echo heard; exit 3' INT; echo up; while :; do sleep 0.01; done"
    running = desk.log_in(*FENCEPOST, "run", "a", "--", "sh", "-c", patient)
    desk.see("up")
    desk.type("\x03")
    desk.see("heard")
    assert ends(running) == 3
    assert session.look("a").holders == ()


def test_ctrl_c_reaches_a_command_in_a_pipeline_too(desk: Desk) -> None:
    patient = "trap 'echo heard >/dev/tty; exit 3' INT; echo up >/dev/tty; while :; do sleep 0.01; done"
    running = desk.log_in(*FENCEPOST, "run", "a", "--", "sh", "-c", patient, stdout=subprocess.PIPE)
    desk.see("up")
    desk.type("\x03")
    desk.see("heard")
    assert ends(running) == 3


def test_in_a_pipeline_the_terminal_is_lent_when_the_command_asks_for_it(desk: Desk) -> None:
    asking = 'echo name? >/dev/tty; read name; echo "hello $name" >/dev/tty'
    piped = ("/bin/sh", "-c", 'exec "$@" >/dev/null', "sh", *FENCEPOST, "run", "a", "--", "sh", "-c", asking)
    running = desk.log_in(sys.executable, "-c", SHELL, *piped)
    desk.see("name?")
    desk.type("world\n")
    desk.see("hello world")
    assert "job stopped" not in desk.screen
    assert ends(running) == 0


def test_the_terminal_is_taken_back_after(desk: Desk) -> None:
    script = '"$@" -m fencepost run a -- true; echo next?; read line; echo "read $line"'
    running = desk.log_in("sh", "-c", script, "sh", sys.executable)
    desk.see("next?")
    desk.type("it\n")
    desk.see("read it")
    assert ends(running) == 0


def test_ctrl_z_stops_the_job_and_it_goes_on_in_the_foreground(desk: Desk) -> None:
    running = desk.log_in(
        sys.executable, "-c", SHELL, *FENCEPOST, "run", "a", "--", "sh", "-c", 'echo up; read line; echo "read $line"'
    )
    desk.see("up")
    desk.type("\x1a")
    desk.see("job stopped")
    desk.type("fg\n")
    desk.type("it\n")
    desk.see("read it")
    assert ends(running) == 0


def test_ctrl_z_in_a_pipeline_never_stops_run_alone(desk: Desk) -> None:
    command = (*FENCEPOST, "run", "a", "--", sys.executable, "-c", BUSY)
    piped = ("/bin/sh", "-c", 'exec "$@" >/dev/null', "sh", *command)
    running = desk.log_in(sys.executable, "-c", SHELL, *piped)
    desk.see(".")
    pid = desk.screen.split()[-2]
    desk.type("\x1a")
    desk.see("job stopped")
    with open(f"/proc/{pid}/stat") as file:
        assert file.read().rpartition(")")[2].split()[0] == "T"
    desk.type("fg\n")
    desk.see("went on")
    desk.type("\x03")
    assert ends(running) == 3


def test_ctrl_z_stops_also_those_who_refuse_it(desk: Desk) -> None:
    # The command stops, and what it has started does not care: nobody would renew the lease that it works under.
    both = "(trap '' TSTP; exec sleep 60) & echo $! .; read line"
    running = desk.log_in(sys.executable, "-c", SHELL, *FENCEPOST, "run", "a", "--", "sh", "-c", both)
    desk.see(".")
    pid = desk.screen.split()[-2]
    desk.type("\x1a")
    desk.see("job stopped")
    eventually(lambda: Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T")
    desk.type("fg\n")
    desk.type("it\n")
    assert ends(running) == 0
    os.kill(int(pid), signal.SIGKILL)


@pytest.mark.slow
def test_a_job_that_was_stopped_for_too_long_never_goes_on(desk: Desk, session: fencepost.Session) -> None:
    running = desk.log_in(
        sys.executable, "-c", SHELL, *FENCEPOST, "run", "a", "--ttl", "4", "--",
        "sh", "-c", "trap 'echo went on' CONT TERM; echo up; read line; echo went on"
    )  # fmt: skip
    desk.see("up")
    desk.type("\x1a")
    desk.see("job stopped")
    session.lock("a").acquire().release()
    desk.type("fg\n")
    assert ends(running) == 76
    desk.see("lost: its lease of 4 s was not renewed in time")
    assert "went on" not in desk.screen


@pytest.mark.slow
def test_who_waits_sees_a_line_that_counts_and_goes_away(desk: Desk, session: fencepost.Session) -> None:
    grant = session.lock("a").acquire()
    waiting = desk.log_in(*FENCEPOST, "run", "a", "--", "echo", "ran")
    line = f"waiting for 'a': held by the test (token {grant.token})"
    counted = rf"\r\x1b\[Kfencepost: {re.escape(line)}, (\d+) s"
    desk.see_that(lambda: len(re.findall(counted, desk.screen)) == 2)
    first, second = map(int, re.findall(counted, desk.screen))
    assert 1 <= first < second
    grant.release()
    desk.see("s\r\x1b[Kran")
    assert ends(waiting) == 0


def test_ctrl_c_while_waiting_leaves_the_queue(desk: Desk, session: fencepost.Session) -> None:
    with session.lock("a"):
        waiting = desk.log_in(*FENCEPOST, "run", "a", "--", "echo", "ran")
        eventually(lambda: session.look("a").waiters)
        desk.type("\x03")
        assert ends(waiting) == 130
        assert session.look("a").waiters == ()


def test_evict_asks_first(desk: Desk, session: fencepost.Session) -> None:
    with session.lock("a") as grant:
        evicting = desk.log_in(*FENCEPOST, "evict", "a")
        desk.see(f"Take 'a' (token {grant.token}) from the test? [y/N]:")
        desk.type("n\n")
        desk.see("nothing was taken")
        assert ends(evicting) == 1
        assert session.look("a").holders
        evicting = desk.log_in(*FENCEPOST, "evict", "a")
        desk.see(f"Take 'a' (token {grant.token}) from the test? [y/N]:")
        desk.type("y\n")
        desk.see(f"took 'a' (token {grant.token}) from the test")
        assert ends(evicting) == 0
        assert session.look("a").holders == ()
        grant._end = "released"


def test_watch_keeps_a_table_on_the_screen(desk: Desk, session: fencepost.Session) -> None:
    watching = desk.log_in(*FENCEPOST, "watch", "--interval", "0.05")
    desk.see("nothing is held")
    with session.lock("orders/42"):
        desk.see("orders/42")
    desk.screen = ""
    desk.see("nothing is held")
    desk.type("\x03")
    assert ends(watching) == 130
    assert "Traceback" not in desk.screen


def test_numbers_are_never_cut_on_a_narrow_terminal(desk: Desk, session: fencepost.Session) -> None:
    with session.lock("a-very-long-name/" * 5) as grant:
        looking = desk.log_in("sh", "-c", 'stty cols 60; exec "$@"', "sh", *FENCEPOST, "ls")
        assert ends(looking) == 0
        desk.see(f" {grant.token} ")
        assert all(len(line) <= 60 for line in re.sub(r"\x1b\[\d*m", "", desk.screen).splitlines())


def test_watch_ends_on_q_and_leaves_the_terminal_as_it_was(desk: Desk, session: fencepost.Session) -> None:
    script = 'before=$(stty -g); "$@" -m fencepost watch --interval 60; echo "exit $?"; '
    script += '[ "$(stty -g)" = "$before" ] && echo same'
    with session.lock("orders/42"):
        watching = desk.log_in("sh", "-c", script, "sh", sys.executable)
        desk.see("orders/42")
        desk.type("xq")
        desk.see("exit 0")
        desk.see("same")
        assert ends(watching) == 0
    assert "xq" not in desk.screen


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGHUP], ids=lambda each: each.name)
def test_watch_leaves_the_terminal_as_it_was_when_a_signal_ends_it(
    desk: Desk, session: fencepost.Session, signum: signal.Signals
) -> None:
    script = 'before=$(stty -g); "$@" -m fencepost watch --interval 60; echo "exit $?"; '
    script += '[ "$(stty -g)" = "$before" ] && echo same'
    with session.lock("orders/42"):
        watching = desk.log_in("sh", "-c", script, "sh", sys.executable)
        desk.see("orders/42")
        (watch,) = children(watching.pid)
        os.kill(watch, signum)
        desk.see(f"exit {128 + signum}")
        desk.see("same")
        assert ends(watching) == 0
    assert desk.screen.rindex("\x1b[?25h") > desk.screen.rindex("\x1b[?25l")


def test_watch_says_what_the_screen_has_no_room_for(desk: Desk, session: fencepost.Session) -> None:
    script = 'stty cols 100 rows 10; exec "$@" -m fencepost watch'
    with session.lock_all([f"orders/{number}" for number in range(10, 40)]):
        watching = desk.log_in("sh", "-c", script, "sh", sys.executable)
        desk.see("and 22 more")
        assert "orders/17" in desk.screen
        assert "orders/18" not in desk.screen
        desk.type("q")
        assert ends(watching) == 0


def test_in_the_background_watch_leaves_the_terminal_to_whoever_has_it(desk: Desk, session: fencepost.Session) -> None:
    script = 'set -m; "$@" -m fencepost watch --interval 0.05 & wait $!; echo "exit $?"'
    with session.lock("orders/42"):
        watching = desk.log_in("sh", "-c", script, "sh", sys.executable)
        desk.see("orders/42")
        eventually(lambda: [each for each in children(watching.pid) if os.getpgid(each) == each])
        (background,) = [each for each in children(watching.pid) if os.getpgid(each) == each]
        desk.type("q\n")
        # Whoever reads from the background is stopped, and would be so by now.
        desk.screen = ""
        desk.see("orders/42")
        os.kill(background, signal.SIGINT)
        desk.see("exit 130")
        assert ends(watching) == 0
