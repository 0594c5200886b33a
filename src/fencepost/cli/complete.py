"""What a shell may go on with where a command is to stand."""

import os
from typing import TYPE_CHECKING

from fencepost.cli.connection import PLAIN

if TYPE_CHECKING:
    import click
    from click.shell_completion import CompletionItem


def complete_command(ctx: "click.Context", param: "click.Parameter", incomplete: str) -> "list[CompletionItem]":
    """Files; for the first word what the search path has, and files where that has nothing."""
    from click.shell_completion import CompletionItem

    # First: the scripts for bash forget what they had when they hear of files.
    found = [CompletionItem(incomplete, type="file")]
    if incomplete and "/" not in incomplete and not ctx.params.get(param.name or ""):
        found += [CompletionItem(name) for name in _executables(incomplete) if PLAIN.fullmatch(name)]
    return found


def _executables(start: str) -> list[str]:
    found: set[str] = set()
    for folder in os.get_exec_path():
        try:
            with os.scandir(folder) as entries:
                found.update(
                    each.name for each in entries if each.name.startswith(start) and os.access(each.path, os.X_OK)
                )
        except OSError:
            # A folder of the search path need not be there.
            continue
    return sorted(found)
