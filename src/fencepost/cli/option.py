"""Options that several commands share."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from fencepost.cli.say import Voice

F = TypeVar("F", bound=Callable[..., Any])


def seconds(value: str | float) -> float:
    """A number of seconds, zero or more."""
    from fencepost.core.duration import check_seconds

    try:
        number = float(value)
    except ValueError:
        raise click.BadParameter(f"'{value}' is not a number of seconds") from None
    try:
        return check_seconds(number, "it")
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


def _hush(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    Voice.quiet = Voice.quiet or value


def quiet(function: F) -> F:
    return click.option(
        "-q", "--quiet", is_flag=True, expose_value=False, callback=_hush, help="Say nothing but errors."
    )(function)


def url(function: F) -> F:
    return click.option(
        "--url", metavar="URL", help="The engine. By default $FENCEPOST_URL, else the embedded one on this host."
    )(function)


def as_json(function: F) -> F:
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(function)
