"""``gramlock tools``: are an application's tools usable, and serving them by MCP."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from ..errors import GramlockError
from .inputs import JsonOutput, load_named, tools_in
from .report import BAD, OK, emit, out, reported

if TYPE_CHECKING:
    from ..tools.dispatch import Dispatcher
    from ..tools.toolset import ToolReport

__all__ = ["tools"]

tools = typer.Typer(
    help="Check an application's tools, and serve them by the Model Context Protocol.",
    epilog="Exit codes: 0 fine; 1 a tool is not usable; 2 wrong usage, or no tools.",
    no_args_is_help=True,
)

Where = Annotated[
    str,
    typer.Argument(
        help="A ToolSet, a list of tools, a Dispatcher, or a function that makes one.",
        metavar="MODULE:NAME",
    ),
]


@tools.command()
@reported
def check(where: Where, json_output: JsonOutput = False) -> int:
    """Compile each tool's schemas and say what cannot be used, tool by tool.

    Exit code 1 if a tool has a problem.
    """
    reports = tools_in(load_named(where, "tools"), "tools").compile()
    if json_output:
        emit({"tools": [_plain(report) for report in reports.values()]})
    else:
        for report in reports.values():
            out.print(escape(str(report)))
    return OK if all(report.ok for report in reports.values()) else BAD


@tools.command()
@reported
def serve(
    where: Where,
    stdio: Annotated[
        bool, typer.Option("--stdio", help="One client, over standard input and output.")
    ] = False,
    http: Annotated[
        str | None,
        typer.Option(help="Many clients, by streamable HTTP at /mcp.", metavar="HOST:PORT"),
    ] = None,
    ledger: Annotated[
        str | None,
        typer.Option(
            envvar="GRAMLOCK_LEDGER",
            help="Record writes there: SQLite file or PostgreSQL URL.",
            metavar="PATH|URL",
        ),
    ] = None,
    name: Annotated[str, typer.Option(help="What the server calls itself.")] = "gramlock",
    operation_ids: Annotated[
        bool,
        typer.Option(
            "--operation-ids",
            help="Let clients name operations in `_meta`, and ask again for a recorded outcome.",
        ),
    ] = False,
) -> int:
    """Serve tools by the Model Context Protocol, through all checks of a dispatcher.

    There is no authentication: serve on a loopback address, or by an application of your own.
    """
    if stdio == (http is not None):
        raise GramlockError("either --stdio or --http HOST:PORT is needed")
    address = _address(http) if http is not None else None
    from ..tools.mcp_server import mcp_server, serve_http, serve_stdio

    dispatcher = _dispatcher(load_named(where, "tools"), ledger)
    server = mcp_server(dispatcher, name=name, operation_ids=operation_ids)
    if address is None:
        serve_stdio(server)
    else:
        serve_http(server, host=address[0], port=address[1])
    return OK


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not host or not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise GramlockError(f"--http: expected HOST:PORT, got {text}")
    return host.strip("[]"), int(port)


def _dispatcher(found: Any, ledger: str | None) -> Dispatcher:
    from ..tools.dispatch import Dispatcher
    from ..tools.ledger import Ledger

    if isinstance(found, Dispatcher):
        if ledger is not None:
            raise GramlockError("--ledger: the dispatcher has its own, or none on purpose")
        return found
    return Dispatcher(tools_in(found, "tools"), ledger=None if ledger is None else Ledger(ledger))


def _plain(report: ToolReport) -> dict[str, Any]:
    return {
        "name": report.name,
        "usable": report.ok,
        "problems": {part: str(error) for part, error in report.problems.items()},
        "names": dict(report.names),
        "keywords": report.keywords.to_dict()["places"] if report.keywords else [],
    }
