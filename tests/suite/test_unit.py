"""Unit tests that reach out fail; others may."""

import pytest

from .conftest import Run

pytest_plugins = ["pytester"]
SUITE = """
    import os, socket, subprocess, sys
    import pytest

    def connect():
        with socket.create_server(("127.0.0.1", 0)) as server:
            socket.create_connection(server.getsockname()).close()

    def fork():
        if (pid := os.fork()) == 0:
            os._exit(0)
        os.waitpid(pid, 0)

    def spawn():
        os.waitpid(os.posix_spawn("/bin/true", ["true"], {}), 0)

    DEEDS = [connect, fork, spawn, lambda: subprocess.run(["true"]), lambda: os.system("true")]

    @pytest.fixture
    def reached(deed):
        deed()

    @pytest.mark.parametrize("deed", DEEDS)
    @pytest.mark.unit
    def test_small(deed):
        deed()

    @pytest.mark.parametrize("deed", DEEDS[:1])
    @pytest.mark.unit
    def test_small_with_a_server(reached): ...

    @pytest.mark.parametrize("deed", DEEDS)
    def test_large(deed):
        deed()

    @pytest.mark.unit
    def test_of_files_and_sockets_of_its_own(tmp_path):
        (tmp_path / "file").write_text("here")
        one, two = socket.socketpair()
        one.close(), two.close()
    """


def test_a_unit_test_that_starts_a_process_or_connects_fails_and_no_other(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makepyfile(SUITE)
    result = run("unit", "-o", "markers=unit")
    result.assert_outcomes(failed=5, errors=1, passed=6)
    result.stdout.fnmatch_lines(["*a unit test needs no server and no other process, and this one calls os.fork*"])
