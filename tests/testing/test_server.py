"""The server harness, with a real process."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fencepost.testing import ServerDown, ServerProcess, free_port, listening, logged
from fencepost.testing.port import is_listening
from tests.support.testing import echo

ECHO = Path(echo.__file__)


def argv(port: int, *behaviour: str) -> list[str]:
    return [sys.executable, "-I", "-S", str(ECHO), str(port), *behaviour]


@pytest.fixture
def port() -> int:
    return free_port()


@pytest.fixture
def server(port: int) -> Iterator[ServerProcess]:
    with ServerProcess(argv(port), ready=listening(port)) as server:
        yield server


def echoed(port: int, line: bytes = b"hello\n", timeout: float = 20.0) -> bytes:
    with socket.create_connection(("127.0.0.1", port), timeout=timeout) as connection:
        connection.sendall(line)
        return connection.recv(100)


def exists(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")")[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_it_is_up_on_entry_and_gone_on_exit(port: int) -> None:
    with ServerProcess(argv(port), ready=listening(port)) as server:
        assert echoed(port) == b"hello\n"
        pid, folder = server.pid, server.folder
        assert (folder / "received").read_bytes() == b"hello\n"
    assert not exists(pid)
    assert not is_listening(port)
    assert not folder.exists()


def test_its_pid_is_its_own_and_not_a_wrapper_s(port: int) -> None:
    with ServerProcess(argv(port), ready=logged("is up")) as server:
        assert server.tail() == f"pid {server.pid} is up"


def test_a_server_that_ends_at_once_is_reported_with_its_log(port: int) -> None:
    with pytest.raises(ServerDown, match=r"ended with status 3 before .*\n.*no such configuration: 'nonsense'"):
        ServerProcess(argv(port, "fail"), ready=listening(port)).__enter__()


def test_a_server_that_does_not_get_ready_is_killed_and_reported(port: int) -> None:
    server = ServerProcess(argv(port), ready=lambda _: False, timeout=0.3)
    with pytest.raises(ServerDown, match=r"was not ready in 0\.3 s"), server:
        pass
    assert not server.running
    assert not server.folder.exists()


def test_a_kill_leaves_it_no_time_and_restart_brings_it_back_on_the_same_port(server: ServerProcess, port: int) -> None:
    echoed(port, b"before\n")
    before = server.pid
    server.kill()
    assert not exists(before)
    assert not is_listening(port)
    server.restart()
    assert server.pid != before
    echoed(port, b"after\n")
    assert (server.folder / "received").read_bytes() == b"before\nafter\n"


def test_a_restart_stops_what_runs(server: ServerProcess, port: int) -> None:
    before = server.pid
    server.restart()
    assert not exists(before)
    assert echoed(port) == b"hello\n"


def test_a_paused_server_accepts_and_does_not_answer_until_it_resumes(server: ServerProcess, port: int) -> None:
    server.pause()
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        connection.sendall(b"late\n")
        connection.settimeout(0.1)
        with pytest.raises(TimeoutError):
            connection.recv(100)
        server.resume()
        connection.settimeout(20)
        assert connection.recv(100) == b"late\n"


def test_a_paused_server_can_be_stopped(server: ServerProcess) -> None:
    server.pause()
    pid = server.pid
    began_at = time.monotonic()
    server.stop(timeout=60)
    assert time.monotonic() - began_at < 20
    assert not exists(pid)


def test_a_server_that_does_not_heed_is_killed(port: int) -> None:
    with ServerProcess(argv(port, "stubborn"), ready=listening(port)) as server:
        pid = server.pid
        server.stop(timeout=0.1)
        assert not exists(pid)


def test_a_server_that_runs_is_not_started_twice(server: ServerProcess) -> None:
    with pytest.raises(RuntimeError, match="runs already"):
        server.start()


def test_the_server_dies_with_the_process_that_started_it(port: int) -> None:
    parent = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import sys, time\n"
            "from fencepost.testing import ServerProcess, listening\n"
            "port = int(sys.argv[1])\n"
            "server = ServerProcess(sys.argv[2:], ready=listening(port))\n"
            "server.start()\n"
            "print(server.pid, server.folder, flush=True)\n"
            "time.sleep(60)\n",
            str(port),
            *argv(port),
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert parent.stdout is not None
    pid, folder = parent.stdout.readline().split()
    descriptor = os.pidfd_open(int(pid))
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
    assert died(descriptor, within=20.0)
    for each in Path(folder).iterdir():
        each.unlink()
    Path(folder).rmdir()


def died(descriptor: int, within: float) -> bool:
    import select

    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    try:
        return bool(poll.poll(within * 1000))
    finally:
        os.close(descriptor)


def test_a_server_started_by_a_thread_outlives_the_thread(port: int) -> None:
    server = ServerProcess(argv(port), ready=listening(port))
    thread = threading.Thread(target=server.start)
    thread.start()
    thread.join()
    try:
        assert echoed(port) == b"hello\n"
    finally:
        server.close()


def test_a_folder_that_was_given_is_kept(port: int, tmp_path: Path) -> None:
    with ServerProcess(argv(port), ready=listening(port), folder=tmp_path):
        pass
    assert "is up" in (tmp_path / "server.log").read_text()
