"""What nobody should type: names, labels, notes, numbers and URLs that will not do are usage errors, in one line."""

import uuid
from collections.abc import Iterator

import pytest

import fencepost
from fencepost.cli.program import run_program
from tests.support.arguments.url import SECRET, SECRETS
from tests.support.arguments.value import NO_UNICODE, ODD

pytestmark = pytest.mark.unit

# An argument of an operating system ends at a NUL, and comes with a lone surrogate where it was no text.
BAD_TEXTS = (*NO_UNICODE, "x" * 20_000)
BAD_SECONDS = (
    "nan",
    "inf",
    "-inf",
    "-1",
    "1e400",
    "9" * 5000,
    "1e10",
    "x",
    "",
    "1s",
    "0x1",
    "1 2",
    "\ud800",
    "\n",
    "--",
)
BAD_NUMBERS = ("nan", "1e3", "1.5", "9" * 5000, "x", "", "-", "\ud800", "0x1", "-0.5")
NAMED = (["show"], ["evict", "--yes"], ["run"], ["elect"])
TEXTS = (
    *(["ls"], ["watch", "--once"], ["run", "a", "--note"], ["run", "a", "--holder"], ["run", "a", "--once"]),
    *(["elect", "a", "--value"], ["elect", "a", "--holder"]),
)
SECONDS = (
    *(["run", "a", "--ttl"], ["run", "a", "--timeout"], ["run", "a", "--grace"], ["run", "a", "--every"]),
    *(["elect", "a", "--ttl"], ["elect", "a", "--timeout"], ["elect", "a", "--grace"], ["watch", "--interval"]),
)
NUMBERS = (["run", "a", "--priority"], ["run", "a", "--tick"], ["watch", "--count"])
COMMAND = ("--", "false")
LOOKS = (["ls"], ["watch", "--once"], ["show", "a"], ["evict", "--yes", "a"])
REST = {"run": COMMAND, "elect": COMMAND}
BAD_CRONS = ("", "x", "* * * *", "60 * * * *", "\n", "\x1b[2J", "\ud800", "9" * 5000)
BAD_URLS = ("x", "://", "\ud800", "redis://h:x", "memory://a\nb", f"redis://u:{SECRET}/@h")


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FENCEPOST_URL", f"memory://{uuid.uuid4().hex}")
    # What the program sets for a whole process.
    monkeypatch.setattr("warnings.showwarning", None)


def commands() -> Iterator[list[str]]:
    for command, bad in ((NAMED, ("", *BAD_TEXTS)), (TEXTS, BAD_TEXTS), (SECONDS, BAD_SECONDS), (NUMBERS, BAD_NUMBERS)):
        yield from ([*each, value, *REST.get(each[0], ())] for each in command for value in bad)
    yield from (["run", "a", "--cron", cron, *COMMAND] for cron in BAD_CRONS)
    yield from (["run", "a", option, str(2**63), *COMMAND] for option in ("--priority", "--tick"))
    for url in (*BAD_URLS, "memory://h?a=b", "nothing://h"):
        yield from ([*each, "--url", url] for each in LOOKS)
    for url in BAD_URLS:
        # Of these it is known before a process is made for the command.
        yield from ([*each, "--url", url, *COMMAND] for each in (["run", "a"], ["elect", "a"]))


def test_what_will_not_do_is_64_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    for argv in commands():
        code = run_program(argv)
        out, err = capsys.readouterr()
        shown = [word[:40] for word in argv]
        assert (code, out) == (64, ""), f"{shown}: {code}: {err}"
        assert err.startswith("fencepost: "), f"{shown}: {err}"
        assert err.removesuffix("\n").isprintable(), f"{shown}: {err!r}"
        assert SECRET not in err, f"{shown}: {err}"


def test_no_password_of_a_mistyped_url_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    for secret in SECRETS:
        run_program(["show", "a", "--url", f"redis://user:{secret}@h?nobody=1"])
        assert SECRET not in "".join(capsys.readouterr())


def test_every_odd_name_is_listed_shown_and_evicted(capsys: pytest.CaptureFixture[str]) -> None:
    with fencepost.connect(ttl=300, holder="\x1b[2J\nroot") as session:
        for name in ODD:
            session.lock(name, note=name).acquire()
        assert run_program(["ls"]) == 0
        lines = capsys.readouterr().out.splitlines()
        # A heading, and a line for each, whatever is in it.
        assert len(lines) == len(ODD) + 1
        assert all(line.isprintable() for line in lines)
        for name in ODD:
            assert run_program(["show", "--", name]) == 0
            assert run_program(["evict", "--yes", "--", name]) == 0
            assert run_program(["evict", "--yes", "--", name]) == 1
        shown = capsys.readouterr()
        assert all(line.isprintable() for line in (shown.out + shown.err).splitlines())
