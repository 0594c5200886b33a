"""`fencepost completion`: the script that teaches a shell our words."""

import click

from fencepost.cli import exit


@click.command(short_help="Print the completion script for a shell.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> int:
    """Print the completion script for SHELL. Names are completed by asking the engine.

    \b
    bash: eval "$(fencepost completion bash)"             in ~/.bashrc
    zsh:  eval "$(fencepost completion zsh)"              in ~/.zshrc
    fish: fencepost completion fish | source              in config.fish
    """
    from click.shell_completion import get_completion_class

    from fencepost.cli.group import fencepost

    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(fencepost, {}, "fencepost", "_FENCEPOST_COMPLETE").source())
    return exit.OK
