"""Words for people, on standard error: one line each, safe to show."""

import json
import sys

from fencepost.errors import printable


class Voice:
    """How to speak: set once, from the options."""

    quiet = False


def note(text: str) -> None:
    """Something good to know; `--quiet` hushes it."""
    if not Voice.quiet:
        _write(f"fencepost: {printable(text)}")


def error(text: str, code: int, *, as_json: bool = False) -> None:
    if as_json:
        _write(json.dumps({"error": text, "exit": code}))
    else:
        _write(f"fencepost: {printable(text)}")


def _write(line: str) -> None:
    try:
        print(line, file=sys.stderr, flush=True)
    except OSError:
        # Nobody listens; what is being done matters more.
        pass
