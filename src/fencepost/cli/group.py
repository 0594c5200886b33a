"""The commands, as one program."""

import click

from fencepost.cli import option
from fencepost.cli.command.completion import completion
from fencepost.cli.command.elect import elect
from fencepost.cli.command.evict import evict
from fencepost.cli.command.fence import fence
from fencepost.cli.command.ls import ls
from fencepost.cli.command.run import run
from fencepost.cli.command.show import show
from fencepost.cli.command.watch import watch


def _version(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value:
        from fencepost import __version__

        click.echo(f"fencepost {__version__}")
        ctx.exit()


class InOrder(click.Group):
    """Commands in the order a newcomer needs them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


@click.group(cls=InOrder, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_version, help="Show the version and exit."
)
@option.quiet
def fencepost() -> None:
    """Locks between processes and machines, with a fencing token on every grant.

    \b
    fencepost run nightly -- ./report.sh     hold 'nightly' while ./report.sh runs
    fencepost ls                             who holds what, since when
    fencepost show nightly                   holders, waiters, evictions
    """


for command in (run, elect, ls, show, watch, evict, fence, completion):
    fencepost.add_command(command)
