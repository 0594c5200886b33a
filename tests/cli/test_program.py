"""What holds for every command."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import fencepost
from tests.support.cli.program import FENCEPOST, Program

WITHOUT = """
import sys
sys.modules[sys.argv.pop(1)] = None
from fencepost.cli import main
sys.exit(main())
"""
BROKEN = """
import sys
import fencepost
def connect(*args, **more):
    raise KeyError("broken")
fencepost.connect = connect
from fencepost.cli import main
sys.exit(main())
"""


def test_version(program: Program) -> None:
    assert program("--version").stdout == f"fencepost {fencepost.__version__}\n"


def test_without_a_command_the_help_is_shown(program: Program) -> None:
    done = program()
    assert (done.returncode, done.stdout) == (64, "")
    assert done.stderr == program("--help").stdout


@pytest.mark.parametrize("package", ["click", "rich"])
def test_a_missing_package_is_64_with_the_line_that_installs_it(program: Program, package: str) -> None:
    done = program("ls", command=(sys.executable, "-c", WITHOUT, package))
    assert (done.returncode, done.stderr.count("\n")) == (64, 1)
    assert "pip install 'fencepost[cli]'" in done.stderr


def test_help_loads_nothing_that_it_does_not_need(program: Program) -> None:
    done = program("--help", command=(sys.executable, "-X", "importtime", "-m", "fencepost"))
    assert "| click" in done.stderr.replace("  ", "")
    for heavy in ("rich.console", "sqlite3", "ctypes", "fencepost.engines.sqlite"):
        assert heavy not in done.stderr


def test_a_bug_of_ours_is_70_in_one_line(program: Program) -> None:
    broken = (sys.executable, "-c", BROKEN)
    done = program("ls", command=broken)
    assert (done.returncode, done.stderr.count("\n")) == (70, 1)
    assert "unexpected KeyError: 'broken'" in done.stderr
    program.environment["FENCEPOST_DEBUG"] = "1"
    assert "Traceback" in program("ls", command=broken).stderr


def test_a_reader_that_has_seen_enough_gets_no_complaint(program: Program) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = program("completion", "zsh", stdout=writing)
    os.close(writing)
    assert (done.returncode, done.stderr) == (128 + signal.SIGPIPE, "")


def test_closed_standard_streams_do_no_harm(program: Program, tmp_path: Path) -> None:
    closed = ("sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", *FENCEPOST)
    file = tmp_path / "file"
    done = program("run", "a", "--", "sh", "-c", f"ls /proc/$$/fd > {file}; exit 7", command=closed)
    assert done.returncode == 7
    # Nothing of ours stands where the command's own streams would be.
    assert set(file.read_text().split()) <= {"1", "10"}
    assert program("ls", command=closed).returncode == 0


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script(program: Program, shell: str) -> None:
    done = program("completion", shell)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"_FENCEPOST_COMPLETE={shell}_complete" in done.stdout


def test_names_are_completed_from_the_engine(program: Program, session: fencepost.Session) -> None:
    with session.lock("orders/42"), session.lock("users/7"):
        assert complete(program, "fencepost show or") == ["plain,orders/42"]
        assert complete(program, "fencepost evict ") == ["plain,orders/42", "plain,users/7"]


def test_a_name_that_a_shell_would_obey_is_not_completed(program: Program, session: fencepost.Session) -> None:
    hostile = (
        "or;touch x",
        "or$(id)",
        "or`id`",
        "or\x1b[2J",
        "or\nders",
        "or'",
        'or"',
        "or ders",
        "or|x",
        "or*",
        "or~",
    )
    with session.lock_all([*hostile, "or-1", "oré/2"]):
        assert complete(program, "fencepost show or") == ["plain,or-1", "plain,oré/2"]


def test_completion_is_silent_when_the_engine_is_not_there(program: Program) -> None:
    program.environment["FENCEPOST_URL"] = "sqlite:////dev/null/locks.db"
    assert complete(program, "fencepost show or") == []


@pytest.mark.parametrize("start", ["run a --", "run a", "run a --ttl 5 --", "elect a --"])
def test_a_command_is_completed_from_the_search_path_and_its_arguments_are_files(
    program: Program, tmp_path: Path, start: str
) -> None:
    for name, mode in (("fp-report", 0o755), ("fp-notes", 0o644), ("fp-bad;rm", 0o755)):
        (tmp_path / name).touch(mode)
    program.environment["PATH"] += f":{tmp_path}:{tmp_path}/not-there"
    at = len(start.split()) + 1
    assert complete(program, f"fencepost {start} fp-", at) == ["file,fp-", "plain,fp-report"]
    assert complete(program, f"fencepost {start} ./fp", at) == ["file,./fp"]
    assert complete(program, f"fencepost {start} fp-report fp-", at + 1) == ["file,fp-"]
    assert complete(program, f"fencepost {start} fp-report ", at + 1) == ["file,"]


def complete(program: Program, line: str, at: int = 2) -> list[str]:
    words = {"_FENCEPOST_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_CWORD": str(at)}
    done = subprocess.run(FENCEPOST, env={**program.environment, **words}, capture_output=True, text=True)
    assert done.stderr == ""
    return done.stdout.split()
