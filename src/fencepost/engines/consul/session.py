"""What an agent tells of sessions and nodes."""

import re
from typing import Any

from fencepost.core.malformed import Malformed, decoder, is_text, read_json

# What stands in the path of later requests.
IDENTIFIER = re.compile("[0-9A-Za-z-]{1,64}")


@decoder
def session_id(body: bytes) -> str:
    """Of a session that was opened."""
    return _identifier(read_json(body))


@decoder
def session_list(body: bytes) -> list[tuple[str, str]]:
    """The id and the name of each session."""
    return [(_identifier(each), str(each["Name"])) for each in read_json(body)]


@decoder
def first_node(body: bytes) -> str:
    name = read_json(body)[0]["Node"]
    if not is_text(name):
        raise Malformed("a node without a name")
    return str(name)


def _identifier(session: dict[str, Any]) -> str:
    identifier = session["ID"]
    if not IDENTIFIER.fullmatch(identifier):
        raise Malformed("a session without an id")
    return str(identifier)
