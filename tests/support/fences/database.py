"""The places that are real databases, each met through the libraries people have."""

import json
import os
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar

from fencepost.fences.sql import SqlFence
from fencepost.testing.mariadb import shared_mariadb
from fencepost.testing.postgresql import shared_postgresql

from .desk import Desk

# Processes that a test starts use its servers.
POSTGRESQL, MARIADB = "FENCEPOST_TEST_POSTGRESQL", "FENCEPOST_TEST_MARIADB"


def postgresql_url() -> str:
    return os.environ.setdefault(POSTGRESQL, "") or _remember(POSTGRESQL, shared_postgresql().url)


def mariadb_port() -> int:
    return int(os.environ.setdefault(MARIADB, "") or _remember(MARIADB, str(shared_mariadb().port)))


def _remember(variable: str, value: str) -> str:
    os.environ[variable] = value
    return value


class DatabasePlace:
    """A list in the one row of a table, in a schema or database of its own for each folder."""

    style: ClassVar[str] = "%s"

    def __init__(self, folder: Path) -> None:
        self.name = f"place_{sha256(str(folder).encode()).hexdigest()[:16]}"
        self._connections: list[Any] = []
        self.make()
        connection = self.connect()
        self.statement(connection, "CREATE TABLE IF NOT EXISTS list (words TEXT)")
        self.statement(connection, "INSERT INTO list SELECT '[]' WHERE NOT EXISTS (SELECT * FROM list)")
        self.commit(connection)

    def make(self) -> None:
        raise NotImplementedError

    def connect(self) -> Any:
        connection = self.open_connection()
        self._connections.append(connection)
        return connection

    def open_connection(self) -> Any:
        raise NotImplementedError

    def statement(self, connection: Any, sql: str, *params: Any) -> list[Any]:
        cursor = connection.cursor()
        cursor.execute(sql, params) if params else cursor.execute(sql)
        return list(cursor.fetchall()) if cursor.description else []

    def commit(self, connection: Any) -> None:
        connection.commit()

    def open(self) -> Desk:
        return Desk(SqlFence(self.connect()), self._select, self._update)

    def look(self) -> list[str]:
        return self._select(self.connect())

    def _select(self, connection: Any) -> list[str]:
        ((words,),) = self.statement(connection, "SELECT words FROM list")
        found: list[str] = json.loads(words)
        return found

    def _update(self, connection: Any, words: list[str]) -> None:
        self.statement(connection, f"UPDATE list SET words = {self.style}", json.dumps(words))

    def close(self) -> None:
        for connection in self._connections:
            connection.close()


class PostgresqlPlace(DatabasePlace):
    autocommit = False

    def make(self) -> None:
        import psycopg

        with psycopg.connect(postgresql_url(), autocommit=True) as connection:
            connection.execute(f"CREATE SCHEMA IF NOT EXISTS {self.name}")

    def open_connection(self) -> Any:
        import psycopg

        return psycopg.connect(postgresql_url(), options=f"-c search_path={self.name}", autocommit=self.autocommit)


class AutocommitPlace(PostgresqlPlace):
    autocommit = True


class MariadbPlace(DatabasePlace):
    autocommit = False

    def make(self) -> None:
        import pymysql

        connection = pymysql.connect(host="127.0.0.1", port=mariadb_port(), user="root", autocommit=True)
        connection.cursor().execute(f"CREATE DATABASE IF NOT EXISTS {self.name}")
        connection.close()

    def open_connection(self) -> Any:
        import pymysql

        return pymysql.connect(
            host="127.0.0.1", port=mariadb_port(), user="root", database=self.name, autocommit=self.autocommit
        )


class MariadbAutocommitPlace(MariadbPlace):
    autocommit = True


class SqlalchemyPlace(PostgresqlPlace):
    """PostgreSQL through SQLAlchemy and psycopg."""

    def url(self) -> str:
        return (
            postgresql_url().replace("postgresql://", "postgresql+psycopg://") + f"?options=-csearch_path={self.name}"
        )

    def open_connection(self) -> Any:
        from sqlalchemy import create_engine
        from sqlalchemy.pool import NullPool

        return create_engine(self.url(), poolclass=NullPool).connect()

    def statement(self, connection: Any, sql: str, *params: Any) -> list[Any]:
        found = connection.exec_driver_sql(sql, params)
        return list(found.fetchall()) if found.returns_rows else []


class SqlalchemyMariadbPlace(MariadbPlace, SqlalchemyPlace):
    def url(self) -> str:
        return f"mysql+pymysql://root@127.0.0.1:{mariadb_port()}/{self.name}"

    open_connection = SqlalchemyPlace.open_connection
    statement = SqlalchemyPlace.statement


class SqlalchemySqlitePlace(SqlalchemyPlace):
    style = "?"

    def __init__(self, folder: Path) -> None:
        self.path = folder / "place.db"
        super().__init__(folder)

    def make(self) -> None:
        pass

    def url(self) -> str:
        return f"sqlite:///{self.path}?timeout=60&check_same_thread=false"


class DjangoPlace(PostgresqlPlace):
    """PostgreSQL through Django's connections."""

    def settings(self) -> dict[str, Any]:
        from psycopg.conninfo import conninfo_to_dict

        at = conninfo_to_dict(postgresql_url())
        return {
            "ENGINE": "django.db.backends.postgresql",
            "HOST": at["host"],
            "PORT": at["port"],
            "USER": at["user"],
            "NAME": at["dbname"],
            "OPTIONS": {"options": f"-c search_path={self.name}"},
        }

    def open_connection(self) -> Any:
        import django
        from django.conf import settings
        from django.db import connections

        if not settings.configured:
            settings.configure(DATABASES={"default": {}})
            django.setup()
        alias = f"{self.name}-{len(self._connections)}"
        configured = connections.configure_settings({"default": {}, alias: self.settings()})
        connections.settings[alias] = configured[alias]
        connection = connections[alias]
        connection.inc_thread_sharing()
        return connection

    def commit(self, connection: Any) -> None:
        pass


class DjangoSqlitePlace(DjangoPlace):
    def __init__(self, folder: Path) -> None:
        self.path = folder / "place.db"
        super().__init__(folder)

    def make(self) -> None:
        pass

    def settings(self) -> dict[str, Any]:
        return {"ENGINE": "django.db.backends.sqlite3", "NAME": str(self.path), "OPTIONS": {"timeout": 60}}


class DjangoMariadbPlace(DjangoPlace):
    """Through Django and PyMySQL, which stands in for mysqlclient as its own documentation shows."""

    def make(self) -> None:
        import pymysql

        pymysql.install_as_MySQLdb()
        MariadbPlace.make(self)  # type: ignore[arg-type]

    def settings(self) -> dict[str, Any]:
        at = {"HOST": "127.0.0.1", "PORT": mariadb_port(), "USER": "root", "NAME": self.name}
        return {"ENGINE": "django.db.backends.mysql", **at}


DATABASES: dict[str, Callable[[Path], DatabasePlace]] = {
    "postgresql": PostgresqlPlace,
    "postgresql-autocommit": AutocommitPlace,
    "postgresql-sqlalchemy": SqlalchemyPlace,
    "postgresql-django": DjangoPlace,
    "mariadb": MariadbPlace,
    "mariadb-autocommit": MariadbAutocommitPlace,
    "mariadb-sqlalchemy": SqlalchemyMariadbPlace,
    "mariadb-django": DjangoMariadbPlace,
    "sqlite-sqlalchemy": SqlalchemySqlitePlace,
    "sqlite-django": DjangoSqlitePlace,
}


def waits(place: DatabasePlace, watcher: Any, connection: Any) -> bool:
    """Whether this connection waits: as PostgreSQL says, and in MariaDB, where there are many ways, for how long."""
    if isinstance(place, PostgresqlPlace):
        sql, who = "SELECT count(*) FROM pg_locks WHERE NOT granted AND pid = %s", connection.info.backend_pid
    else:
        sql = "SELECT count(*) FROM information_schema.processlist WHERE command = 'Query' AND time_ms > 50 AND id = %s"
        who = connection.thread_id()
    ((found,),) = place.statement(watcher, sql, who)
    place.commit(watcher)
    return bool(found)
