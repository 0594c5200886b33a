"""`fencepost run --once`, `--every` and `--cron`: one node does it for all."""

import re
import signal
from pathlib import Path

import pytest

import fencepost
from fencepost.cli.command.run import run
from tests.support.cli.program import Program, complains, ends, eventually, says


def test_what_was_done_once_is_skipped_by_all_others(program: Program) -> None:
    done = program("run", "migrate", "--once", "v42", "--holder", "web-1", "--", "echo", "migrating")
    again = program("run", "migrate", "--once", "v42", "--", "echo", "migrating")
    other = program("run", "migrate", "--once", "v43", "--", "echo", "migrating")
    back = program("run", "migrate", "--once", "v42", "--", "echo", "migrating")
    assert (done.returncode, done.stdout) == (0, "migrating\n")
    assert (again.returncode, again.stdout) == (0, "")
    assert again.stderr.startswith("fencepost: skipped 'migrate': web-1 did it in ")
    assert other.stdout == "migrating\n"
    assert (back.returncode, back.stdout, back.stderr) == (0, "", again.stderr)


def test_what_failed_is_done_again_by_the_next(program: Program) -> None:
    failed = program("run", "migrate", "--once", "v42", "--", "sh", "-c", "exit 3")
    mended = program("run", "migrate", "--once", "v42", "--", "echo", "migrating")
    assert (failed.returncode, mended.returncode, mended.stdout) == (3, 0, "migrating\n")


def test_others_wait_for_whoever_is_at_it_and_then_skip(program: Program, session: fencepost.Session) -> None:
    first = program.start("run", "migrate", "--once", "v42", "--", "sh", "-c", "echo up; read line")
    assert says(first) == "up"
    second = program.start("run", "migrate", "--once", "v42", "--", "echo", "again")
    eventually(lambda: session.look("migrate").waiters)
    impatient = program("run", "migrate", "--once", "v42", "--timeout", "0", "--", "echo", "again")
    assert (impatient.returncode, impatient.stderr) == (
        75,
        "fencepost: 'migrate' not begun in time: somebody else is at it\n",
    )
    first.communicate("go on\n")
    out, _ = second.communicate(timeout=30)
    assert (first.returncode, second.returncode, out) == (0, 0, "")


@pytest.mark.slow
def test_two_nodes_run_each_tick_once(program: Program, session: fencepost.Session, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    # Which tick a run is for stands in the arguments of whoever runs it.
    command = ("--", "sh", "-c", f"cat /proc/$PPID/cmdline >> {runs}; echo >> {runs}")
    nodes = [program.start("run", "report", "--every", "1", "--holder", label, *command) for label in ("a", "b")]
    eventually(lambda: runs.exists() and len(ticks(runs)) >= 2)
    # Before they are told to end, which a run that is under way fails by.
    eventually(lambda: (last := session.job("report").last()) is not None and last.state == "done")
    for node in nodes:
        node.send_signal(signal.SIGTERM)
    assert [ends(node) for node in nodes] == [128 + signal.SIGTERM] * 2
    # And one that comes late for the first of them.
    python, *arguments = runs.read_text().splitlines()[0].rstrip("\0").split("\0")
    assert program(*arguments, command=(python,)).returncode == 0
    assert ticks(runs) == sorted(set(ticks(runs)))


def ticks(runs: Path) -> list[int]:
    return [int(tick) for tick in re.findall(r"--tick\0(\d+)\0", runs.read_text())]


def test_a_run_that_fails_is_said_and_the_next_one_comes(program: Program) -> None:
    node = program.start("run", "report", "--every", "1", "--", "sh", "-c", "echo ran; exit 3")
    assert says(node) == "ran"
    assert "ended with exit code 3" in complains(node)
    assert says(node) == "ran"
    node.send_signal(signal.SIGINT)
    assert ends(node) == 128 + signal.SIGINT


def test_a_schedule_that_is_wrong_is_refused_at_once(program: Program) -> None:
    for arguments, complaint in (
        (("--every", "0.5"), "every whole number of seconds"),
        (("--cron", "61 * * * *"), "'61' is no minute"),
        (("--every", "1", "--cron", "* * * * *"), "exclude each other"),
        (("--once", ""), "--once needs an ID"),
        (("--shared", "--once", "v1"), "--shared is for readers"),
    ):
        done = program("run", "a", *arguments, "--", "true")
        assert done.returncode == 64
        assert complaint in done.stderr


@pytest.mark.unit
def test_what_is_asked_of_a_schedule_is_asked_of_each_run(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    class Told:
        def __init__(self, schedule: object, arguments: list[str]) -> None:
            asked.extend(arguments)

        def run(self) -> int:
            return 0

    monkeypatch.setattr("fencepost.cli.repeat.Repetition", Told)
    run.main(["report", "--every", "1", "--grace", "0", "--note", "n", "--", "true"], standalone_mode=False)
    assert asked == ["--ttl", "10.0", "--grace", "0.0", "--note", "n", "--", "report", "true"]
