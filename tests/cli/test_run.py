"""`fencepost run`, when all goes well, and when it can not begin."""

import fcntl
import os
import re
import signal
import sys
from pathlib import Path

import pytest

import fencepost
from tests.support.cli.program import PATIENCE, Death, Program, children, complains, ends, eventually, says

ENVIRONMENT = 'echo "$FENCEPOST_NAME $FENCEPOST_TOKEN $FENCEPOST_URL"'


def test_the_command_knows_the_name_the_token_and_the_engine(program: Program, url: str) -> None:
    done = program("run", "orders/42", "--", "sh", "-c", ENVIRONMENT)
    name, token, engine = done.stdout.split()
    assert (done.returncode, done.stderr, name, engine) == (0, "", "orders/42", url)
    assert int(token) > 0


def test_a_nested_run_sees_its_own_name_and_a_token_of_its_own(program: Program, url: str) -> None:
    outer = f"{ENVIRONMENT}; exec \"$0\" -m fencepost run inner -- sh -c '{ENVIRONMENT}'"
    # Not from the environment: the nested one must be told.
    program.environment.pop("FENCEPOST_URL")
    done = program("run", "--url", url, "outer", "--", "sh", "-c", outer, sys.executable)
    first, second = (line.split() for line in done.stdout.splitlines())
    assert [first[0], second[0], first[2], second[2]] == ["outer", "inner", url, url], done.stderr
    assert first[1] != second[1]


def test_without_an_engine_the_embedded_one_is_used_and_passed_on(program: Program, tmp_path: Path) -> None:
    program.environment.pop("FENCEPOST_URL")
    done = program("run", "a", "--", "sh", "-c", ENVIRONMENT)
    assert done.stdout.split()[2] == "sqlite://"
    assert (tmp_path / "fencepost" / "locks.db").exists()


def test_the_lock_is_held_while_the_command_runs_and_free_after(program: Program, session: fencepost.Session) -> None:
    running = program.start("run", "a", "--holder", "web-3", "--note", "why", "--", "sh", "-c", "echo up; read line")
    assert says(running) == "up"
    (standing,) = session.look("a").holders
    assert (standing.claim.holder.label, standing.claim.ask.note) == ("web-3", "why")
    running.communicate("go on\n")
    assert (running.returncode, session.look("a").holders) == (0, ())


def test_the_exit_code_is_that_of_the_command(program: Program) -> None:
    assert program("run", "a", "--", "sh", "-c", "exit 7").returncode == 7


def test_a_command_that_died_of_a_signal_gives_128_plus_its_number(program: Program) -> None:
    assert program("run", "a", "--", "sh", "-c", "kill -9 $$").returncode == 128 + 9


def test_a_command_that_is_not_there_gives_127_and_frees_the_lock(program: Program, session: fencepost.Session) -> None:
    done = program("run", "a", "--", "no-such-command")
    assert (done.returncode, done.stderr) == (
        127, "fencepost: 'no-such-command' can not be run: no such file or directory\n"
    )  # fmt: skip
    assert session.look("a").holders == ()


def test_a_file_that_can_not_be_executed_gives_126(program: Program, tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("text")
    assert program("run", "a", "--", str(tmp_path / "plain")).returncode == 126


def test_a_command_that_never_ran_has_not_succeeded(program: Program, session: fencepost.Session) -> None:
    with session.lock("a"):
        waiting = program.start("run", "a", "--", "echo", "ran")
        eventually(lambda: session.look("a").waiters)
        # What waits to become the command, and knows no signal of ours yet.
        os.kill(children(waiting.pid)[0], signal.SIGINT)
    out, _ = waiting.communicate(timeout=PATIENCE)
    assert (out, waiting.returncode) == ("", 126)


def test_options_of_the_command_are_left_to_it(program: Program) -> None:
    done = program("run", "a", "--", "echo", "--timeout", "--json", "--", "-q")
    assert done.stdout == "--timeout --json -- -q\n"


def test_standard_input_and_output_are_those_of_the_command(program: Program) -> None:
    running = program.start("run", "a", "--", "cat")
    assert running.communicate("through\n")[0] == "through\n"


def test_a_pipe_that_nobody_reads_ends_the_command_as_usual(program: Program) -> None:
    # Python ignores SIGPIPE; what it starts must not.
    done = program("run", "a", "--", "sh", "-c", "sh -c 'kill -PIPE $$; echo survived'; echo $?")
    assert done.stdout == f"{128 + signal.SIGPIPE}\n"


def test_the_lock_is_free_when_the_command_ends_though_it_left_others_running(
    program: Program, session: fencepost.Session
) -> None:
    done = program("run", "a", "--", "sh", "-c", "sleep 600 >/dev/null 2>&1 & echo $!")
    assert session.look("a").holders == ()
    # And they run on.
    assert not Death(int(done.stdout)).comes(timeout=0.1)
    os.kill(int(done.stdout), signal.SIGKILL)


def test_not_acquired_in_time_is_75_and_says_who_holds(program: Program, session: fencepost.Session) -> None:
    with session.lock("a") as grant:
        done = program("run", "a", "--timeout", "0.05", "--", "echo", "ran")
    assert (done.returncode, done.stdout) == (75, "")
    held = rf"held by the test \(token {grant.token}\)"
    assert re.fullmatch(rf"fencepost: lock 'a' not acquired in \d+\.\d s: {held}\n", done.stderr)


def test_skip_if_held_is_a_success_with_a_note(program: Program, session: fencepost.Session) -> None:
    with session.lock("a") as grant:
        done = program("run", "a", "--skip-if-held", "--", "echo", "ran")
        quiet = program("-q", "run", "a", "--skip-if-held", "--", "echo", "ran")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (0, "", 1)
    assert f"held by the test (token {grant.token})" in done.stderr
    assert (quiet.returncode, quiet.stdout, quiet.stderr) == (0, "", "")


def test_skip_if_held_runs_the_command_when_nobody_holds(program: Program) -> None:
    assert program("run", "a", "--skip-if-held", "--", "echo", "ran").stdout == "ran\n"


def test_readers_share_and_keep_a_writer_out(program: Program) -> None:
    reading = program.start("run", "a", "--shared", "--", "sh", "-c", "echo up; read line")
    assert says(reading) == "up"
    assert program("run", "a", "--shared", "--timeout", "0", "--", "true").returncode == 0
    assert program("run", "a", "--timeout", "0", "--", "true").returncode == 75


def test_as_many_hold_it_as_there_are_permits(program: Program, session: fencepost.Session) -> None:
    holding = ("run", "a", "--permits", "2", "--", "sh", "-c", "echo up; read line")
    holders = [program.start(*holding) for _ in range(2)]
    assert [says(each) for each in holders] == ["up", "up"]
    assert [each.claim.ask.limit for each in session.look("a").holders] == [2, 2]
    third = program("run", "a", "--permits", "2", "--timeout", "0", "--", "true")
    assert third.returncode == 75
    for each in holders:
        each.communicate("go on\n")
    assert program("run", "a", "--permits", "2", "--", "true").returncode == 0
    for wrong in (("--permits", "0"), ("--permits", "2", "--shared"), ("--permits", "2", "--once", "v1")):
        assert program("run", "a", *wrong, "--", "true").returncode == 64


def test_a_reader_of_higher_priority_goes_before_a_writer_that_waits(
    program: Program, session: fencepost.Session
) -> None:
    reading = session.rwlock("a").read().acquire()
    writing = program.start("run", "a", "--", "true")
    eventually(lambda: session.look("a").waiters)
    assert program("run", "a", "--shared", "--timeout", "0", "--", "true").returncode == 75
    assert program("run", "a", "--shared", "--priority", "1", "--timeout", "0", "--", "true").returncode == 0
    reading.release()
    assert writing.wait(20) == 0


def test_who_waits_is_told_once_what_for_and_then_gets_it(program: Program, session: fencepost.Session) -> None:
    grant = session.lock("a").acquire()
    waiting = program.start("run", "a", "--", "echo", "ran")
    held = rf"held by the test \(token {grant.token}\)"
    assert re.fullmatch(rf"fencepost: waiting for 'a': {held}, [1-9]\d* s", complains(waiting))
    grant.release()
    assert waiting.communicate() == ("ran\n", "")


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda each: each.name)
def test_a_signal_while_waiting_leaves_the_queue(
    program: Program, session: fencepost.Session, signum: signal.Signals
) -> None:
    with session.lock("a"):
        waiting = program.start("run", "a", "--", "echo", "ran")
        eventually(lambda: session.look("a").waiters)
        waiting.send_signal(signum)
        assert ends(waiting) == 128 + signum
        assert session.look("a").waiters == ()
    printed, said = waiting.communicate()
    assert printed == ""
    # After a second it has said who holds it.
    assert said.splitlines()[-1] == f"fencepost: stopped waiting for 'a': {signum.name}"


def test_an_engine_that_does_not_answer_is_69(program: Program, gate: Path) -> None:
    assert program("run", "a", "--", "true").returncode == 0
    with gate.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        done = program("run", "a", "--ttl", "0.3", "--", "echo", "ran")
    assert (done.returncode, done.stdout) == (69, "")
    assert "is busy" in done.stderr
    assert done.stderr.count("\n") == 1


def test_an_engine_that_refuses_is_69(program: Program) -> None:
    done = program("run", "a", "--url", "sqlite:////dev/null/locks.db", "--", "true")
    assert (done.returncode, done.stderr.count("\n")) == (69, 1)


@pytest.mark.parametrize(
    ("args", "complaint"),
    [
        (("run", "a", "--tiemout", "5", "--", "true"), "no such option '--tiemout'"),
        (("run", "a"), "missing argument '-- COMMAND...'"),
        (("run", "", "--", "true"), "a lock name must not be empty"),
        (("run", "a", "--ttl", "0", "--", "true"), "--ttl must be more than 0 s"),
        (("run", "a", "--ttl", "0.01", "--", "true"), "ttl 0.01 s"),
        (("run", "a", "--ttl", "nan", "--", "true"), "must be a number of seconds, not NaN"),
        (("run", "a", "--timeout", "soon", "--", "true"), "'soon' is not a number of seconds"),
        (("run", "a", "--timeout", "-1", "--", "true"), "must not be negative"),
        (("run", "a", "--url", "sqlit:///x", "--", "true"), "did you mean sqlite://?"),
        (("run", "a", "--url", "nonsense", "--", "true"), "'nonsense' is not an engine URL"),
        (("run", "a", "--grace", "6", "--", "true"), "--grace 6 s is too long for --ttl 10 s"),
        (("run", "a", "--skip-if-held", "--timeout", "5", "--", "true"), "use it or --timeout, not both"),
        (("run", "a", "--priority", "101", "--", "true"), "101 is not in the range -100<=x<=100"),
        (("run", "a", "--priority", "1", "--once", "x", "--", "true"), "not what is done once: leave one out"),
        (("run", "a", "--priority", "1", "--url", "etcd://127.0.0.1:1", "--", "true"), "trait 'priority'"),
        (("frobnicate",), "no such command 'frobnicate'"),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_what_can_not_be_meant_is_64_with_one_line(program: Program, args: tuple[str, ...], complaint: str) -> None:
    done = program(*args)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (64, "", 1)
    assert done.stderr.startswith("fencepost: ")
    assert complaint in done.stderr


def test_an_engine_that_nobody_shares_is_refused(program: Program) -> None:
    done = program("run", "a", "--url", "memory://x", "--", "true")
    assert done.returncode == 64
    assert "memory://x is shared with no other process" in done.stderr


@pytest.mark.parametrize("schedule", ["--every=5", "--cron=* * * * *"])
def test_a_schedule_takes_no_timeout(program: Program, schedule: str) -> None:
    done = program("run", "a", schedule, "--timeout", "3", "--", "true")
    assert done.returncode == 64
    assert "--timeout is for those who wait" in done.stderr
