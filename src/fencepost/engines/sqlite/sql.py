"""The SQL of this engine, read from the files beside."""

from importlib.resources import files

_HERE = files(__package__)
SCHEMA = (_HERE / "schema.sql").read_text()


def _statements() -> dict[str, str]:
    found = {}
    for part in (_HERE / "statements.sql").read_text().split("-- name: ")[1:]:
        name, _, text = part.partition("\n")
        found[name.strip()] = text.strip()
    return found


STATEMENTS = _statements()
