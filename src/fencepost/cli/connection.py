"""The engine that the options name."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from fencepost.cli import say
from fencepost.cli.exit import usage
from fencepost.errors import Refused, printable

if TYPE_CHECKING:
    import click
    from click.shell_completion import CompletionItem

    from fencepost.contract.answer import Snapshot
    from fencepost.primitives._sync.session import Session

# Completion must not keep anybody waiting: engines are patient for a third of the ttl.
SHORT_TTL = 1.0
# A shell inserts what it is told as it is: names come from others, and only what no shell obeys is offered.
PLAIN = re.compile(r"[\w@%+=:,./-]+")


def address(url: str | None) -> str:
    """The URL in force, as a nested command must be told it."""
    from fencepost.primitives._sync.connect import EMBEDDED

    return url or os.environ.get("FENCEPOST_URL") or EMBEDDED


def operator() -> str:
    """Who types: for the record of an eviction."""
    import getpass
    import socket

    try:
        user = getpass.getuser()
    except (ImportError, KeyError, OSError):
        user = str(os.getuid()) if hasattr(os, "getuid") else "somebody"
    return os.environ.get("FENCEPOST_HOLDER") or f"{user}@{socket.gethostname()}"


@contextmanager
def onlooker(url: str | None) -> "Iterator[Session]":
    """A session that looks and holds nothing: it has no lease."""
    from fencepost import connect

    with usage():
        session = connect(address(url), holder=operator())
    try:
        yield session
    finally:
        session.close()


def look_at_all(session: "Session", prefix: str = "") -> "Iterator[Snapshot]":
    """Each name that begins so. One that somebody else has put something strange under is told, and left out."""
    for name in session.names(prefix):
        try:
            yield session.look(name)
        except Refused as error:
            say.note(f"'{printable(name)}' can not be looked at: {error}")


def complete_name(ctx: "click.Context", param: "click.Parameter", incomplete: str) -> "list[CompletionItem]":
    """The names at the engine that begin like this, or none, quietly."""
    from click.shell_completion import CompletionItem

    from fencepost import connect

    try:
        session = connect(address(ctx.params.get("url")), ttl=SHORT_TTL)
        try:
            return [CompletionItem(name) for name in session.names(incomplete) if PLAIN.fullmatch(name)]
        finally:
            session.close()
    except Exception:
        return []
