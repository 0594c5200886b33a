"""Fencing over HTTP, between real servers and real clients."""

import os
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path

import httpx
import pytest
import requests

from fencepost.errors import Refused, Stale
from fencepost.fences.host import HostFence
from fencepost.fences.http import Presented, raise_if_stale
from fencepost.fences.http.header import Refusal, judge
from fencepost.fences.private import open_private
from fencepost.testing.condition import until
from fencepost.testing.port import free_port
from fencepost.testing.server import ServerProcess, listening
from tests.support.fences.process import resume, started, stop

# For what comes within a second, on a machine that is busy with something else.
PATIENCE = 60.0
SERVICE = "tests.support.fences.service"
ROOT = Path(__file__).parents[3]
# The module of the services makes a gateway also where another app is served.
NOWHERE = "http://127.0.0.1:9"


@contextmanager
def served(folder: Path, app: str, *options: str, upstream: str = NOWHERE) -> Iterator[str]:
    port = free_port()
    uvicorn = ["-m", "uvicorn", f"{SERVICE}:{app}", "--port", str(port), "--log-level", "warning", *options]
    argv = [sys.executable, *(uvicorn if app != "wsgi" else ["-m", SERVICE, str(port)])]
    environment = {
        "FENCEPOST_TEST_FOLDER": str(folder),
        "FENCEPOST_TEST_UPSTREAM": upstream,
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
    }
    with ServerProcess(argv, ready=listening(port), env=environment, timeout=PATIENCE):
        yield f"http://127.0.0.1:{port}"


@pytest.fixture(scope="module", params=["asgi", "wsgi", "gateway"])
def service(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    folder = tmp_path_factory.mktemp("service")
    if request.param == "asgi":
        with served(folder, "fenced", "--workers", "2") as url:
            yield url, folder
    elif request.param == "wsgi":
        with served(folder, "wsgi") as url:
            yield url, folder
    else:
        with served(folder, "naked") as upstream, served(folder, "gateway", upstream=upstream) as url:
            yield url, folder


@pytest.fixture
def url(service: tuple[str, Path], request: pytest.FixtureRequest) -> str:
    """A resource of the test's own, with nothing in it."""
    base, folder = service
    (folder / "text").write_text("")
    return f"{base}/{request.node.name}"


@pytest.fixture
def folder(service: tuple[str, Path]) -> Path:
    return service[1]


def put(url: str, token: int | None, text: str) -> requests.Response:
    return requests.put(url, data=text, auth=None if token is None else Presented(token), timeout=PATIENCE)


def get(url: str, token: int) -> requests.Response:
    return requests.get(url, auth=Presented(token), timeout=PATIENCE)


def test_a_stale_token_is_412_and_changes_nothing(url: str, folder: Path) -> None:
    assert put(url, 7, "new").status_code == 200
    assert put(url, 7, "newer").status_code == 200
    refused = put(url, 6, "old")
    assert (refused.status_code, refused.headers["Fencing-Mark"]) == (412, "7")
    assert "is stale: token 7 was seen already" in refused.json()["error"]
    assert (folder / "text").read_text() == "newer"
    with pytest.raises(Stale) as stale:
        raise_if_stale(refused)
    assert (stale.value.token, stale.value.highest) == (6, 7)


def test_a_write_without_a_token_is_428_and_a_read_passes(url: str, folder: Path) -> None:
    assert put(url, None, "forgot").status_code == 428
    assert (folder / "text").read_text() == ""
    assert requests.get(url, timeout=PATIENCE).status_code == 200


def test_a_read_that_shows_its_token_shuts_out_older_writers(url: str) -> None:
    assert get(url, 7).status_code == 200
    assert put(url, 6, "late").status_code == 412
    assert get(url, 6).status_code == 412


@pytest.mark.parametrize("shown", ["0", "-1", "7.0", "seven", str(2**63), "", "7, 8"])
def test_what_is_no_token_is_400(url: str, shown: str) -> None:
    assert requests.put(url, data="x", headers={"Fencing-Token": shown}, timeout=PATIENCE).status_code == 400


def test_paths_do_not_share_a_mark(url: str) -> None:
    assert put(f"{url}/a", 7, "x").status_code == 200
    assert put(f"{url}/b", 6, "x").status_code == 200


def test_httpx_shows_tokens_too(url: str) -> None:
    hooks = {"response": [raise_if_stale]}
    with (
        httpx.Client(auth=Presented(7), event_hooks=hooks, timeout=PATIENCE) as newer,
        httpx.Client(auth=Presented(6), event_hooks=hooks, timeout=PATIENCE) as older,
    ):
        assert newer.put(url, content="new").text == "new"
        with pytest.raises(Stale):
            older.put(url, content="old")


async def test_asynchronous_httpx_shows_tokens_too(url: str) -> None:
    async with httpx.AsyncClient(auth=Presented(8), timeout=PATIENCE) as client:
        assert (await client.put(url, content="new")).text == "new"
        with pytest.raises(Stale):
            raise_if_stale(await client.put(url, content="old", auth=Presented(7)))


def read_and_write_when_told(url: str, pipe: Connection) -> None:
    hooks = {"response": [raise_if_stale]}
    with httpx.Client(auth=Presented(6), event_hooks=hooks, timeout=PATIENCE) as client:
        pipe.send(client.get(url).text)
        pipe.recv()
        try:
            pipe.send(client.put(url, content="late").status_code)
        except Stale as error:
            pipe.send(error)


def test_a_holder_stopped_and_resumed_after_a_newer_one_came_is_refused(url: str, folder: Path) -> None:
    with started(read_and_write_when_told, url) as (process, pipe):
        assert pipe.recv() == ""
        stop(process)
        pipe.send("go on")
        assert get(url, 7).text == ""
        resume(process)
        assert isinstance(pipe.recv(), Stale)
    assert put(url, 7, "newer").status_code == 200
    assert (folder / "text").read_text() == "newer"


def test_a_newer_one_waits_for_the_request_that_is_running(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("")
    answers: list[str] = []
    with served(tmp_path, "fenced", "--workers", "2") as base:
        url = f"{base}/orders/42"
        older = threading.Thread(target=lambda: answers.append(put(f"{url}?slow", 6, "older").text))
        older.start()
        until(lambda: (tmp_path / "slow").exists())
        newer = threading.Thread(target=lambda: answers.append(get(url, 7).text))
        newer.start()
        # Long enough for a service that does not hold it off to answer it. If not, nothing is found out.
        newer.join(0.1)
        (tmp_path / "go").touch()
        older.join()
        newer.join()
    assert answers == ["older", "older"]


def test_marks_outlive_the_service(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("")
    for token, status in ((7, 200), (6, 412), (7, 200)):
        with served(tmp_path, "wsgi") as url:
            assert put(f"{url}/orders/42", token, str(token)).status_code == status
    assert HostFence(tmp_path / "marks.db").highest("orders/42") == 7


def test_a_gateway_says_when_the_service_is_not_there(tmp_path: Path) -> None:
    with served(tmp_path, "gateway", upstream=f"http://127.0.0.1:{free_port()}") as url:
        assert put(url, 7, "x").status_code == 502


def first_line(url: str, request: bytes) -> bytes:
    """What is answered to bytes that no client would send."""
    host, _, port = url.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), PATIENCE) as connection:
        connection.sendall(request)
        return connection.makefile("rb").readline()


def test_a_gateway_reaches_no_other_host(tmp_path: Path) -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as other,
        served(tmp_path, "gateway", upstream=f"http://127.0.0.1:{free_port()}") as url,
    ):
        elsewhere = other.getsockname()[1]
        for target in (f"@127.0.0.1:{elsewhere}/secret", f"http://127.0.0.1:{elsewhere}/secret", "/x/../orders/42"):
            first = first_line(url, f"GET {target} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            # Some servers take the path out of a URL: then it was asked for at the service.
            assert b" 400 " in first or (b" 502 " in first and target.startswith("http"))
        # Whoever had come would stand in the queue of this socket.
        other.setblocking(False)
        with pytest.raises(BlockingIOError):
            other.accept()


@pytest.mark.unit
def test_who_needs_a_token() -> None:
    assert judge("GET", "a", None, 50) is None
    assert judge("delete", "a", "41", 50) == 41
    assert isinstance(judge("DELETE", "a", None, 50), Refusal)


def test_marks_that_are_reached_by_a_link_have_one_lock(tmp_path: Path) -> None:
    (tmp_path / "linked").symlink_to(tmp_path / "marks")
    for path in ("marks", "linked"):
        with HostFence(tmp_path / path).guard("orders/42", 7):
            pass
    assert sorted(each.name for each in tmp_path.iterdir() if each.name.endswith(".lock")) == ["marks.lock"]


@pytest.mark.unit
def test_whoever_is_quicker_makes_the_file_and_no_other_is_left_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(tmp_path / "marks")
    first = open_private(path)
    first.execute("CREATE TABLE mine (id)")
    first.close()
    # As if it had not been there yet when the second one looked.
    monkeypatch.setattr(os.path, "exists", lambda _: False)
    second = open_private(path)
    assert second.execute("SELECT count(*) FROM mine").fetchall() == [(0,)]
    second.close()
    assert os.listdir(tmp_path) == ["marks"]


def test_marks_are_private_and_stay_as_they_were_made(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        HostFence(tmp_path / "marks").claim("orders/42", 7)
    finally:
        os.umask(before)
    assert {each.name: each.stat().st_mode & 0o777 for each in tmp_path.iterdir()} == {
        "marks": 0o600,
        "marks.lock": 0o600,
    }
    (tmp_path / "marks").chmod(0o640)
    HostFence(tmp_path / "marks").claim("orders/42", 8)
    assert (tmp_path / "marks").stat().st_mode & 0o777 == 0o640


def test_what_stands_in_place_of_a_journal_of_the_marks_keeps_nobody_waiting(tmp_path: Path) -> None:
    HostFence(tmp_path / "marks").claim("orders/42", 7)
    os.mkfifo(tmp_path / "marks-journal")
    with pytest.raises(Refused, match="marks-journal' is not a file"):
        HostFence(tmp_path / "marks").claim("orders/42", 8)
