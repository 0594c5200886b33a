"""The command line: parse, call, show."""

import sys
from collections.abc import Sequence

MISSING = "fencepost: the command line needs the package '{}': pip install 'fencepost[cli]'"
USAGE = 64


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command that `argv` names; its exit code."""
    try:
        import click  # noqa: F401
        import rich  # noqa: F401
    except ModuleNotFoundError as error:
        print(MISSING.format(error.name), file=sys.stderr)
        return USAGE
    from fencepost.cli.program import run_program

    return run_program(sys.argv[1:] if argv is None else list(argv))
