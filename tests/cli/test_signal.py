"""`fencepost run` between whoever sends signals and the command; also as PID 1."""

import os
import shutil
import signal
import subprocess
import sys

import pytest

import fencepost
from tests.support.cli.program import FENCEPOST, SIGNALS, Program, children, ends, eventually, says

QUICK = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# Says what it is sent, and has a child of its own that does too.
LISTENER = """
import os, signal, sys
signals = {1, 2, 3, 10, 12, 15}
signal.pthread_sigmask(signal.SIG_BLOCK, signals)
who = "child" if os.fork() else "grandchild"
os.write(1, b"up" + bytes([10]))
heard = signal.Signals(signal.sigwait(signals)).name
os.write(1, f"{who} {heard}".encode() + bytes([10]))
if who == "child":
    os.wait()
    sys.exit(7)
"""
# Leaves an orphan that dies, and sees to whom it was left, and whether it is buried.
UNDERTAKING = """
import os, sys, time
reading, writing = os.pipe()
parent = os.fork()
if parent == 0:
    parent = os.getpid()
    if os.fork() == 0:
        os.setsid()
        while os.getppid() == parent:
            time.sleep(0.001)
        os.write(writing, b"%d %d" % (os.getpid(), os.getppid()))
    os._exit(0)
os.waitpid(parent, 0)
orphan, guardian = map(int, os.read(reading, 40).split())
if guardian != os.getppid():
    sys.exit("it was left to somebody else")
until = time.monotonic() + 10
while os.path.exists(f"/proc/{orphan}"):
    if time.monotonic() > until:
        sys.exit("a zombie is left")
    time.sleep(0.005)
print("buried")
"""


@pytest.mark.parametrize(
    "signum",
    [*QUICK, *(pytest.param(signum, marks=pytest.mark.slow) for signum in SIGNALS if signum not in QUICK)],
    ids=lambda each: each.name,
)
def test_signals_reach_the_whole_group(program: Program, signum: signal.Signals) -> None:
    running = program.start("run", "a", "--", sys.executable, "-c", LISTENER)
    assert (says(running), says(running)) == ("up", "up")
    running.send_signal(signum)
    assert {says(running), says(running)} == {f"child {signum.name}", f"grandchild {signum.name}"}
    assert ends(running) == 7


def test_the_command_has_a_group_of_its_own(program: Program) -> None:
    done = program("run", "a", "--", sys.executable, "-c", "import os; print(os.getpgrp() == os.getpid())")
    assert done.stdout == "True\n"


@pytest.mark.parametrize("signum", QUICK, ids=lambda each: each.name)
def test_a_signal_that_comes_during_the_start_ends_the_wait(
    program: Program, session: fencepost.Session, signum: signal.Signals
) -> None:
    with session.lock("a"):
        waiting = program.stage("run", "a", "--", "echo", "ran", fork=int(signum))
        assert ends(waiting) == 128 + signum
    assert waiting.communicate() == ("", f"fencepost: stopped waiting for 'a': {signum.name}\n")


def test_the_command_finds_no_signal_blocked_but_what_was_before(program: Program) -> None:
    says_mask = (sys.executable, "-c", "import signal; print(sorted(signal.pthread_sigmask(signal.SIG_BLOCK, ())))")
    assert program("run", "a", "--", *says_mask).stdout == "[]\n"
    blocks = "import os, signal, sys; signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1}); "
    blocking = (sys.executable, "-c", blocks + "os.execv(sys.argv[1], sys.argv[1:])", *FENCEPOST)
    usr1 = f"[{signal.SIGUSR1!r}]\n"
    assert program("run", "a", "--", *says_mask, command=blocking).stdout == usr1


def test_a_signal_that_was_ignored_stays_so(program: Program, session: fencepost.Session) -> None:
    nohup = ("sh", "-c", 'trap "" HUP; exec "$@"', "sh", *FENCEPOST)
    with session.lock("a"):
        waiting = program.start("run", "a", "--", "sh", "-c", "kill -HUP $$; echo ran", command=nohup)
        eventually(lambda: session.look("a").waiters)
        waiting.send_signal(signal.SIGHUP)
    assert waiting.communicate()[0] == "ran\n"


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere orphans are left to PID 1")
def test_orphans_are_left_to_us_and_buried(program: Program) -> None:
    done = program("run", "a", "--", sys.executable, "-c", UNDERTAKING)
    assert (done.stdout, done.stderr) == ("buried\n", "")


def _may_unshare() -> bool:
    probe = ("unshare", "--pid", "--fork", "--mount-proc", "true")
    return shutil.which("unshare") is not None and subprocess.run(probe, capture_output=True).returncode == 0


AS_PID_1 = ("unshare", "--pid", "--fork", "--mount-proc", "--kill-child", *FENCEPOST)
needs_namespaces = pytest.mark.skipif(not _may_unshare(), reason="needs the right to make a pid namespace")


@needs_namespaces
def test_as_pid_1_it_buries_orphans(program: Program) -> None:
    done = program("run", "a", "--", sys.executable, "-c", UNDERTAKING, command=AS_PID_1)
    assert (done.stdout, done.stderr, done.returncode) == ("buried\n", "", 0)


@needs_namespaces
def test_as_pid_1_it_passes_signals_on_and_frees_the_lock(program: Program, session: fencepost.Session) -> None:
    # Its parent is outside of the namespace: it looks like 0 from inside.
    inside = "echo $PPID; trap 'echo bye; exit 7' TERM; echo up; while :; do sleep 0.01; done"
    running = program.start("run", "a", "--", "sh", "-c", inside, command=AS_PID_1)
    assert (says(running), says(running)) == ("1", "up")
    (pid_1,) = children(running.pid)
    os.kill(pid_1, signal.SIGTERM)
    assert running.communicate()[0] == "bye\n"
    assert (running.returncode, session.look("a").holders) == (7, ())
