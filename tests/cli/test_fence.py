"""`fencepost fence`, on a real PostgreSQL."""

import json
from collections.abc import Iterator

import psycopg
import pytest

from fencepost.testing.postgresql import shared_postgresql
from tests.support.cli.program import Program


@pytest.fixture
def url() -> Iterator[str]:
    url = shared_postgresql().url
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS orders CASCADE")
        connection.execute("CREATE TABLE orders (id int PRIMARY KEY)")
        yield url
        connection.execute("DROP TABLE orders CASCADE")


def test_install_status_and_remove(program: Program, url: str) -> None:
    assert program("fence", "remove", url, "--table", "orders").returncode == 1
    done = program("fence", "install", url, "--table", "orders")
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "writes to 'orders' now need a token for 'orders'\n")
    with psycopg.connect(url, autocommit=True) as connection, pytest.raises(psycopg.Error, match="has shown no token"):
        connection.execute("INSERT INTO orders VALUES (1)")
    done = program("fence", "install", url, "--table", "orders", "--key", "id", "--name", "shop")
    assert done.stdout == "writes to 'orders' now need a token for 'shop/<id>'\n"
    assert "orders: writes need a token for 'shop/<id>'\n" in program("fence", "status", url).stdout
    listed = json.loads(program("fence", "status", url, "--json").stdout)
    assert {"table": "orders", "name": "shop", "key": "id", "enabled": True, "unguarded": []} in listed
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TABLE more () INHERITS (orders)")
    told = "orders: writes need a token for 'shop/<id>', but not those to more (trigger missing or disabled)"
    assert told in program("fence", "status", url).stdout
    done = program("fence", "remove", url, "--table", "orders")
    assert (done.returncode, done.stdout) == (0, "writes to 'orders' need no token any more\n")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("INSERT INTO orders VALUES (1)")


def test_mistakes_are_64_and_an_absent_server_is_69(program: Program, url: str) -> None:
    done = program("fence", "install", url, "--table", "nothing")
    assert (done.returncode, "there is no table 'nothing'" in done.stderr) == (64, True)
    done = program("fence", "status", "redis://127.0.0.1")
    assert (done.returncode, "use postgresql://" in done.stderr) == (64, True)
    done = program("fence", "status", "postgresql://127.0.0.1:1/none")
    assert (done.returncode, done.stderr.count("\n")) == (69, 1)


@pytest.mark.parametrize(
    "typed",
    [
        "postgresql:/user:secret@127.0.0.1:1/none",
        "user:secret@127.0.0.1:1/none",
        "user:secret@postgresql://127.0.0.1:1/none",
        "postgresql://user:sec/secret@127.0.0.1:1/none",
        "postgresql://user:sec@secret@127.0.0.1:1/none",
        "postgresql://user:sec%secret@127.0.0.1:1/none",
        "postgresql://user:secret@127.0.0.1:x/none",
        "postgresql://user:secret@127.0.0.1:1/none?nonsense=1",
        "mysql://user:secret@127.0.0.1:1/none",
    ],
)
def test_no_message_about_a_mistyped_url_shows_its_password(program: Program, typed: str) -> None:
    done = program("fence", "status", typed)
    assert done.returncode in (64, 69)
    assert "secret" not in done.stdout + done.stderr
