"""The program around the commands: every way out is one line and an exit code, never a traceback."""

import logging
import os
import sys
import traceback
import warnings
from typing import TextIO

import click

from fencepost.cli import exit, say
from fencepost.cli.group import fencepost
from fencepost.cli.standard import ensure_streams
from fencepost.errors import FencepostError


def run_program(argv: list[str]) -> int:
    ensure_streams()
    # What the library logs, the commands say in their own words.
    logging.getLogger("fencepost").addHandler(logging.NullHandler())
    warnings.showwarning = _show_warning
    as_json = "--json" in argv[: argv.index("--") if "--" in argv else None]
    try:
        code = _obey(argv)
        sys.stdout.flush()
        return code
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return exit.USAGE
    except click.ClickException as error:
        say.error(_complaint(error), exit.USAGE, as_json=as_json)
        return exit.USAGE
    except (KeyboardInterrupt, click.Abort):
        return exit.INTERRUPTED
    except FencepostError as error:
        code = exit.code_for(error)
        say.error(str(error) or type(error).__name__, code, as_json=as_json)
        return code
    except BrokenPipeError:
        # Whoever read our output has seen enough. Python would complain again when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return exit.BROKEN_PIPE
    except Exception as error:
        if os.environ.get("FENCEPOST_DEBUG"):
            traceback.print_exc()
        text = f"unexpected {type(error).__name__}: {error} (FENCEPOST_DEBUG=1 shows where)"
        say.error(text, exit.BUG, as_json=as_json)
        return exit.BUG


def _obey(argv: list[str]) -> int:
    """What click's own `main` does, without its opinions on exit codes."""
    if question := os.environ.get("_FENCEPOST_COMPLETE"):
        from click.shell_completion import shell_complete

        return shell_complete(fencepost, {}, "fencepost", "_FENCEPOST_COMPLETE", question)
    try:
        with fencepost.make_context("fencepost", argv) as context:
            code: int = fencepost.invoke(context)
            return code
    except click.exceptions.Exit as error:
        return error.exit_code


def _complaint(error: click.ClickException) -> str:
    """One line in the style of the rest: lower case, no full stop, and where to read on."""
    text = " ".join(error.format_message().split()).rstrip(".")
    if text[1:2].islower():
        text = text[0].lower() + text[1:]
    context = error.ctx if isinstance(error, click.UsageError) else None
    return f"{text} (see '{context.command_path} --help')" if context is not None else text


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    say.note(f"warning: {message}")
