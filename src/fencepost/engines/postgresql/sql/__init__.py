"""The SQL of these engines, read from the files beside. `{schema}` in it stands for the schema of the URL."""

from functools import cache
from importlib.resources import files

from fencepost.engines.postgresql.query import Query

VERSION = 8
PARTS = ("schema", "token", "view", "queue", "claim", "lease", "advisory", "cell")
_HERE = files(__package__)


def _quoted(schema: str) -> str:
    return f'"{schema}"'


def _read(name: str, schema: str) -> str:
    return (_HERE / f"{name}.sql").read_text().replace("{schema}", _quoted(schema))


def installation(schema: str) -> str:
    """Everything from nothing to the newest version, as one transaction."""
    return "\n".join(_read(part, schema) for part in PARTS)


@cache
def statements(file: str, schema: str) -> dict[str, Query]:
    found = {}
    for part in _read(file, schema).split("-- name: ")[1:]:
        name, _, text = part.partition("\n")
        found[name.strip()] = Query(f"fencepost {name.strip()}", text.strip())
    return found
