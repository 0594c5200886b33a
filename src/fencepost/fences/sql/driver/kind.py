"""Which library a connection is of, found without importing any."""


def library(connection: object) -> str:
    """The name of the package that made the class of `connection`, or of the first base that is not the user's own."""
    known = {"sqlite3", "_sqlite3", "psycopg", "pymysql", "sqlalchemy", "django", "asyncpg", "aiosqlite"}
    for base in type(connection).__mro__:
        package = base.__module__.partition(".")[0]
        if package in known:
            return package.lstrip("_")
    return type(connection).__module__.partition(".")[0]


def refuse(connection: object, takes: str) -> TypeError:
    return TypeError(f"a SQL fence takes {takes}, not {type(connection).__name__}")
