"""Servers that import an application, fork, and serve from the children: the session is made at the import."""

import contextlib
import importlib
import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from fencepost.testing import redis
from fencepost.testing.condition import until
from fencepost.testing.port import free_port

pytestmark = pytest.mark.slow

TASKS = """
import os

import celery
import fencepost

app = celery.Celery("tasks", broker=os.environ["BROKER"], backend=os.environ["BROKER"])
session = fencepost.connect(os.environ["ENGINE"], ttl=60)
parent = os.getpid()


@app.task
def work():
    with session.lock("a", timeout=50) as grant:
        return [grant.token, os.getpid() != parent]
"""

PAGE = """
import os

import fencepost

session = fencepost.connect(os.environ["ENGINE"], ttl=60)
parent = os.getpid()


def app(environ, start_response):
    with session.lock("a", timeout=50) as grant:
        said = f"{grant.token} {os.getpid() != parent}"
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [said.encode()]
"""


@contextlib.contextmanager
def serving(folder: Path, *command: str, **environment: str) -> Iterator[None]:
    """A server that runs in the folder, and is asked to end with the test."""
    paths = os.pathsep.join([str(folder), *filter(None, sys.path)])
    server = subprocess.Popen(
        [sys.executable, "-m", *command], cwd=folder, env={**os.environ, **environment, "PYTHONPATH": paths}
    )
    try:
        yield
    finally:
        server.terminate()
        server.wait(60)


def test_every_task_of_celerys_own_pool_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "fencepost_tasks.py").write_text(TASKS)
    address = f"redis://127.0.0.1:{redis.shared_server()}"
    environment = {"ENGINE": f"{address}/1", "BROKER": f"{address}/2"}
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.syspath_prepend(str(tmp_path))
    tasks = importlib.import_module("fencepost_tasks")
    worker = ("celery", "-A", "fencepost_tasks", "worker", "--pool", "prefork", "--concurrency", "2", "-l", "error")
    with serving(tmp_path, *worker, **environment):
        asked = [tasks.work.delay() for _ in range(20)]
        answers = [each.get(timeout=100) for each in asked]
    assert len({token for token, _ in answers}) == 20
    assert all(in_child for _, in_child in answers)


def test_every_request_to_gunicorn_with_preload_locks(tmp_path: Path) -> None:
    (tmp_path / "fencepost_page.py").write_text(PAGE)
    port = free_port()

    def ask() -> str:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=60) as response:
            return str(response.read().decode())

    def is_there() -> bool:
        try:
            return bool(ask())
        except OSError:
            return False

    server = ("gunicorn", "--preload", "--workers", "2", "--bind", f"127.0.0.1:{port}", "fencepost_page:app")
    with serving(tmp_path, *server, ENGINE=f"sqlite://{tmp_path}/locks.db"):
        until(is_there)
        answers = [ask().split() for _ in range(20)]
    assert [int(token) for token, _ in answers] == sorted({int(token) for token, _ in answers})
    assert {in_child for _, in_child in answers} == {"True"}
