"""`fencepost run`, when the lock is lost: the command is dead before anybody else is granted."""

import fcntl
import signal
import time
from pathlib import Path

import fencepost

from .program import FENCEPOST, STUBBORN, Death, Program, children, complains, ends, eventually, says

# What the rival runs once granted: is anybody of the first command still alive?
CENSUS = 'for pid in "$@"; do kill -0 "$pid" 2>/dev/null && echo "$pid lives"; done; echo granted'
# Our own command, in a process that can be cut off from the engine: while the file exists no renewal is answered.
CUT_OFF = """
import os, sys
from fencepost.cli import main
from fencepost.engines.sqlite._sync.engine import Engine
from fencepost.errors import Unavailable
renew, cut = Engine.lease_renew, sys.argv.pop(1)
def lease_renew(self, *args):
    if os.path.exists(cut):
        raise Unavailable("cut off")
    return renew(self, *args)
Engine.lease_renew = lease_renew
sys.exit(main())
"""


def test_the_group_is_dead_before_a_rival_is_granted(
    program: Program, session: fencepost.Session, tmp_path: Path
) -> None:
    cut = tmp_path / "cut"
    apart = (FENCEPOST[0], "-c", CUT_OFF, str(cut))
    holding = program.start("run", "a", "--ttl", "2", "--", "sh", "-c", STUBBORN, command=apart)
    pids = says(holding).split()
    rival = program.start("run", "a", "--ttl", "60", "--", "sh", "-c", CENSUS, "sh", *pids)
    eventually(lambda: session.look("a").waiters)
    cut.touch()
    assert rival.communicate()[0] == "granted\n"
    assert ends(holding) == 76


def test_the_group_is_dead_before_its_lease_ends_when_the_engine_is_unavailable(program: Program, gate: Path) -> None:
    ttl = 2.0
    holding = program.start("run", "a", "--ttl", f"{ttl}", "--", "sh", "-c", STUBBORN)
    deaths = [Death(int(pid)) for pid in says(holding).split()]
    with gate.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        lease_ends_at = time.monotonic() + ttl
        assert all(death.comes() for death in deaths)
        assert time.monotonic() < lease_ends_at
        assert "renewal failed, 'a' is ours for" in complains(holding)
        assert ends(holding) == 76
    assert "lost: its lease of 2 s was not renewed in time; the command was stopped\n" in holding.communicate()[1]


def test_a_command_that_ends_on_sigterm_is_given_the_time_to(program: Program, session: fencepost.Session) -> None:
    farewell = "trap 'sleep 0.1; echo farewell; exit 0' TERM; echo up; while :; do sleep 0.01; done"
    holding = program.start("run", "a", "--ttl", "1.5", "--grace", "0.7", "--", "sh", "-c", farewell)
    assert says(holding) == "up"
    session.evict("a")
    assert holding.communicate()[0] == "farewell\n"
    assert holding.returncode == 76


def test_an_evicted_command_is_stopped_at_the_next_renewal(program: Program, session: fencepost.Session) -> None:
    holding = program.start("run", "a", "--ttl", "1.5", "--", "sh", "-c", STUBBORN)
    deaths = [Death(int(pid)) for pid in says(holding).split()]
    session.evict("a")
    assert all(death.comes() for death in deaths)
    assert ends(holding) == 76
    assert "fencepost: lock 'a' (token" in holding.communicate()[1]


def test_a_loss_that_shows_only_at_the_end_is_a_loss(program: Program, session: fencepost.Session) -> None:
    holding = program.start("run", "a", "--ttl", "60", "--", "sh", "-c", "echo up; read line")
    assert says(holding) == "up"
    session.evict("a")
    _, err = holding.communicate("go on\n")
    assert (holding.returncode, err.count("\n")) == (76, 1)
    assert err.endswith("; the command had ended by then\n")


def test_renewals_that_fail_for_a_while_stop_nothing(program: Program, tmp_path: Path) -> None:
    cut = tmp_path / "cut"
    cut.touch()
    apart = (FENCEPOST[0], "-c", CUT_OFF, str(cut))
    holding = program.start("run", "a", "--ttl", "6", "--", "sh", "-c", "read line; exit 7", command=apart)
    assert "renewal failed" in complains(holding)
    cut.unlink()
    assert complains(holding) == "fencepost: renewals work again, 'a' was not lost"
    holding.communicate("go on\n")
    assert holding.returncode == 7


def test_a_stopped_command_is_killed_as_well(program: Program, session: fencepost.Session) -> None:
    holding = program.start("run", "a", "--ttl", "1.5", "--", "sh", "-c", "echo $$; kill -STOP $$; echo woken")
    death = Death(int(says(holding)))
    session.evict("a")
    assert death.comes()
    assert ends(holding) == 76


def test_who_was_paused_past_the_lease_gives_no_grace(program: Program, session: fencepost.Session) -> None:
    """A pause of `run` itself can not be helped; but when it ends, there is no time left to be polite."""
    polite = "trap 'echo was asked' TERM; echo $$; while :; do sleep 0.01; done"
    holding = program.start("run", "a", "--ttl", "1", "--grace", "0.5", "--", "sh", "-c", polite)
    death = Death(int(says(holding)))
    holding.send_signal(signal.SIGSTOP)
    session.lock("a").acquire().release()
    holding.send_signal(signal.SIGCONT)
    assert death.comes()
    assert holding.communicate()[0] == ""
    assert holding.returncode == 76


def test_a_killed_run_takes_its_whole_group_along(program: Program) -> None:
    holding = program.start("run", "a", "--ttl", "60", "--", "sh", "-c", STUBBORN)
    deaths = [Death(int(pid)) for pid in says(holding).split()]
    holding.kill()
    assert all(death.comes() for death in deaths)


def test_a_run_that_is_killed_while_it_waits_leaves_nobody_behind(program: Program, session: fencepost.Session) -> None:
    with session.lock("a"):
        waiting = program.start("run", "a", "--", "echo", "ran")
        eventually(lambda: session.look("a").waiters)
        deaths = [Death(pid) for pid in children(waiting.pid)]
        assert len(deaths) == 2
        waiting.kill()
        assert all(death.comes() for death in deaths)
    assert waiting.communicate()[0] == ""


def test_the_sentinel_leaves_when_the_command_has_ended(program: Program) -> None:
    running = program.start("run", "a", "--", "sh", "-c", "echo $$; read line")
    command = int(says(running))
    (sentinel,) = (Death(pid) for pid in children(running.pid) if pid != command)
    running.communicate("go on\n")
    assert sentinel.comes()
