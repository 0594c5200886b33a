"""`fencepost run`, when the lock is lost: the command is dead before anybody else is granted."""

import fcntl
import signal
import time
from pathlib import Path

import pytest

import fencepost
from tests.support.cli.program import STUBBORN, Death, Program, children, complains, ends, eventually, says

# What the rival runs once granted: is anybody of the first command still alive?
CENSUS = 'for pid in "$@"; do kill -0 "$pid" 2>/dev/null && echo "$pid lives"; done; echo granted'
# How long before the end of its lease a command must be dead here. By default it is less than a busy machine may need.
SAFETY = 3.0


def test_the_group_is_dead_before_a_rival_is_granted(
    program: Program, session: fencepost.Session, tmp_path: Path
) -> None:
    cut = tmp_path / "cut"
    command = ("--", "sh", "-c", STUBBORN)
    holding = program.stage("run", "a", "--ttl", "6", "--grace", "0.3", *command, cut=cut, safety=SAFETY)
    pids = says(holding).split()
    rival = program.start("run", "a", "--ttl", "60", "--", "sh", "-c", CENSUS, "sh", *pids)
    eventually(lambda: session.look("a").waiters)
    cut.touch()
    assert rival.communicate()[0] == "granted\n"
    assert ends(holding) == 76


@pytest.mark.slow
def test_the_group_is_dead_before_its_lease_ends_when_the_engine_is_unavailable(program: Program, gate: Path) -> None:
    ttl = 6.0
    command = ("--", "sh", "-c", STUBBORN)
    holding = program.stage("run", "a", "--ttl", f"{ttl}", "--grace", "0.3", *command, safety=SAFETY)
    deaths = [Death(int(pid)) for pid in says(holding).split()]
    with gate.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        lease_ends_at = time.monotonic() + ttl
        assert all(death.comes() for death in deaths)
        assert time.monotonic() < lease_ends_at
        assert "renewal failed, 'a' is ours for" in complains(holding)
        assert ends(holding) == 76
    assert "lost: its lease of 6 s was not renewed in time; the command was stopped\n" in holding.communicate()[1]


def test_a_command_that_ends_on_sigterm_is_given_the_time_to(program: Program, session: fencepost.Session) -> None:
    farewell = "trap 'sleep 0.1; echo farewell; exit 0' TERM; echo up; while :; do sleep 0.01; done"
    holding = program.stage("run", "a", "--ttl", "60", "--grace", "20", "--", "sh", "-c", farewell, renew=0.1)
    assert says(holding) == "up"
    session.evict("a")
    assert holding.communicate()[0] == "farewell\n"
    assert holding.returncode == 76


def test_an_evicted_command_is_stopped_at_the_next_renewal(program: Program, session: fencepost.Session) -> None:
    holding = program.stage("run", "a", "--ttl", "60", "--grace", "0.1", "--", "sh", "-c", STUBBORN, renew=0.1)
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
    command = ("--", "sh", "-c", "read line; exit 7")
    holding = program.stage("run", "a", "--ttl", "60", *command, cut=cut, renew=0.1)
    assert "renewal failed" in complains(holding)
    cut.unlink()
    assert complains(holding) == "fencepost: renewals work again, 'a' was not lost"
    holding.communicate("go on\n")
    assert holding.returncode == 7


def test_a_stopped_command_is_killed_as_well(program: Program, session: fencepost.Session) -> None:
    command = ("--", "sh", "-c", "echo $$; kill -STOP $$; echo woken")
    holding = program.stage("run", "a", "--ttl", "60", *command, renew=0.1)
    death = Death(int(says(holding)))
    session.evict("a")
    assert death.comes()
    assert ends(holding) == 76


@pytest.mark.slow
def test_who_was_paused_past_the_lease_gives_no_grace(program: Program, session: fencepost.Session) -> None:
    """A pause of `run` itself can not be helped; but when it ends, there is no time left to be polite."""
    polite = "trap 'echo was asked' TERM; echo $$; while :; do sleep 0.01; done"
    holding = program.start("run", "a", "--ttl", "4", "--grace", "0.5", "--", "sh", "-c", polite)
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
