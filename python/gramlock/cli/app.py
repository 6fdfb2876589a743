"""The commands, put together."""

from __future__ import annotations

from typing import Annotated

import typer

from .check import check
from .conformance import conformance
from .demo import demo
from .generate import generate
from .ledger import ledger
from .mask import mask
from .tools import tools

__all__ = ["app"]

app = typer.Typer(
    name="gramlock",
    help="Lock a language model's output to a grammar.",
    epilog="Exit codes: 0 fine; 1 something wrong found; 2 wrong usage or unreadable file; "
    "3 schema refused; 4 budget passed, or no way to go on.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command()(generate)
app.command()(mask)
app.command()(check)
app.command()(conformance)
app.command()(demo)
app.add_typer(ledger, name="ledger")
app.add_typer(tools, name="tools")


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(version("gramlock"))
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Lock a language model's output to a grammar."""
