"""Without the calls that only Linux has: shown by processes that take them away from Python before they begin."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

import fencepost
from fencepost.testing.contract import SITES

ROOT = Path(__file__).parents[2]
PLATFORMS = ("macos", "windows")
# All that can be reached by TCP, or needs no server at all.
EVERYWHERE = (
    "memory",
    "redis",
    "rediss",
    "redlock",
    "etcd",
    "consul",
    "zookeeper",
    "postgresql",
    "postgresql+advisory",
)


def start(part: str, *words: str) -> "subprocess.Popen[str]":
    """A part of tests/support/platform, in a process of its own."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("FENCEPOST")}
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-m", f"tests.support.platform.{part}", *words],
        cwd=ROOT,
        env=kept,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def end(started: "subprocess.Popen[str]") -> tuple[int, str, str]:
    out, err = started.communicate(timeout=120)
    return started.returncode, out, err


def run(part: str, *words: str) -> tuple[int, str, str]:
    return end(start(part, *words))


@pytest.mark.parametrize("scheme", EVERYWHERE)
def test_an_engine_works_where_calls_are_missing(scheme: str) -> None:
    with SITES[scheme]() as site:
        # Side by side, each on a name of its own.
        for started in [start("life", platform, site.url) for platform in PLATFORMS]:
            assert end(started) == (0, "", "")


@pytest.mark.parametrize("platform", PLATFORMS)
def test_what_needs_the_calls_says_so_and_what_to_use_instead(platform: str) -> None:
    code, out, err = run("refusal", platform)
    assert (code, err) == (0, "")
    said = dict(line.split(": ", 1) for line in out.splitlines())
    embedded = "sqlite:// does not run where Python has no os.pidfd_open: use memory:// within one process, or a server"
    assert all(said[each].startswith(embedded) for each in ("connect", "connect_async", "sqlite"))
    assert {"host", "async host"} <= set(said)
    assert ("file" in said, "redis+unix" in said) == ((True, True) if platform == "windows" else (False, False))


@pytest.mark.parametrize("platform", PLATFORMS)
@pytest.mark.parametrize("scheme", ["postgresql+advisory"])
def test_an_advisory_lock_is_lost_as_soon_as_its_connection_ends_also_without_epoll(platform: str, scheme: str) -> None:
    with SITES[scheme]() as site:
        code, out, err = run("ending", platform, site.url)
        assert (code, out) == (0, ""), err


@pytest.mark.parametrize("scheme", ["redis"])
def test_without_process_groups_no_command_is_run_and_all_else_is_shown(scheme: str) -> None:
    with SITES[scheme]() as site, fencepost.connect(site.url) as session, session.lock("nightly"):
        code, out, err = run("commands", "windows", "run", "--url", site.url, "report", "--", "true")
        assert (code, out, err.count("\n")) == (64, "", 1)
        assert "no process groups" in err
        code, out, err = run("commands", "windows", "ls", "--json", "--url", site.url)
        assert (code, err) == (0, "")
        assert "nightly" in out
        code, out, err = run("commands", "windows", "ls")
        assert (code, out, err.count("\n")) == (64, "", 1)
        assert "sqlite:// does not run where Python has no" in err
        code, out, err = run("commands", "macos", "run", "--url", site.url, "report", "--", "echo", "done")
        assert (code, out) == (0, "done\n")


@pytest.mark.parametrize("scheme", ["postgresql"])
def test_a_loop_without_readers_is_told_which_loop_to_use(scheme: str) -> None:
    class Proactor(asyncio.SelectorEventLoop):
        """As that of Windows is in this respect. What it needs itself, it may add."""

        def add_reader(self, *args: object) -> None:
            raise NotImplementedError

        def add_writer(self, *args: object) -> None:
            raise NotImplementedError

    async def connect(url: str) -> None:
        async with fencepost.connect_async(url):
            raise AssertionError("it got in")

    refused = pytest.raises(fencepost.Unsupported, match=r"asyncio\.SelectorEventLoop")
    with SITES[scheme]() as site, asyncio.Runner(loop_factory=Proactor) as runner, refused:
        runner.run(connect(site.url))
