"""The examples of docs/command-line.md, run."""

import re
import sys
from pathlib import Path

from fencepost.testing.binary import find_binary
from tests.support.cli.program import Program

PAGE = Path(__file__).parents[2] / "docs" / "command-line.md"


def example(first_words: str) -> str:
    """The one block of the page that has these words."""
    (block,) = (each for each in re.findall(r"```\w*\n(.*?)```", PAGE.read_text(), re.S) if first_words in each)
    return str(block)


def test_the_database_of_the_example_refuses_a_stale_token(program: Program, tmp_path: Path) -> None:
    find_binary("sqlite3", "sqlite3")
    (tmp_path / "schema.sh").write_text(example("CREATE TRIGGER"))
    (tmp_path / "report.sh").write_text(example("# report.sh"))
    for script in ("schema.sh", "report.sh", "report.sh"):
        done = program("run", "nightly", "--", "sh", script, cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
    program.environment |= {"FENCEPOST_NAME": "nightly", "FENCEPOST_TOKEN": "1"}
    stale = program("report.sh", command=("sh",), cwd=tmp_path)
    assert stale.returncode != 0
    assert "stale token" in stale.stderr
    reports = program("reports.db", "SELECT count(*) FROM report", command=("sqlite3",), cwd=tmp_path)
    assert reports.stdout == "2\n"


def test_the_file_of_the_example_is_written_under_the_token(program: Program, tmp_path: Path) -> None:
    (tmp_path / "report.py").write_text(example("# report.py"))
    done = program("run", "nightly", "--", sys.executable, "report.py", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "report.csv").read_text() == "day,total\n"


def test_every_option_and_exit_code_of_run_is_on_the_page(program: Program) -> None:
    page = PAGE.read_text()
    for option in re.findall(r"--[a-z-]{2,}", program("run", "--help").stdout):
        assert option in page or option == "--help", option
    from fencepost.cli import exit

    for code in (exit.USAGE, exit.UNAVAILABLE, exit.BUG, exit.NOT_ACQUIRED, exit.LOST):
        assert f"| {code} |" in page
