"""``gramlock ledger``: which writes are unresolved, what is known of one, and asking the receivers.

``unresolved`` and ``show`` only read. ``reconcile`` imports the application's tools and calls their
status look-ups; it never sends a write. None of them makes a ledger where there is none.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from ..errors import GramlockError
from .inputs import JsonOutput, load_named, tools_in
from .report import BAD, OK, emit, out, reported

if TYPE_CHECKING:
    from ..tools.ledger import Entry, Ledger
    from ..tools.reconciliation import Reconciliation
    from ..tools.tool import Tool

__all__ = ["ledger"]

ledger = typer.Typer(
    help="Look into the record of writes, and reconcile those whose outcome is unknown.",
    epilog="Exit codes: 0 nothing is unresolved; 1 something is; 2 wrong usage, or no ledger.",
    no_args_is_help=True,
)

Where = Annotated[
    str,
    typer.Option(
        "--ledger",
        envvar="GRAMLOCK_LEDGER",
        help="SQLite file or PostgreSQL URL; a URL with a password belongs into the variable.",
        metavar="PATH|URL",
    ),
]
OfTool = Annotated[str | None, typer.Option("--tool", help="Only this tool's.", metavar="NAME")]


@ledger.command()
@reported
def unresolved(
    where: Where = "gramlock-ledger.db",
    tool: OfTool = None,
    limit: Annotated[int | None, typer.Option(help="At most this many.", min=1)] = None,
    json_output: JsonOutput = False,
) -> int:
    """List writes whose outcome is unknown or still to come, oldest first.

    Exit code 1 if there is any.
    """
    with _open(where) as opened:
        entries = opened.unresolved(tool=tool, limit=limit)
    if json_output:
        emit({"unresolved": [_plain(entry.to_dict()) for entry in entries]})
    else:
        _print_entries(entries)
    return BAD if entries else OK


@ledger.command()
@reported
def show(
    entry_id: Annotated[str, typer.Argument(help="As `unresolved` lists it.", metavar="ID")],
    where: Where = "gramlock-ledger.db",
    json_output: JsonOutput = False,
) -> int:
    """Show one write: its key, state, result, and all evidence.

    Exit code 1 if it is unresolved.
    """
    with _open(where) as opened:
        entry = opened.get(entry_id)
    if entry is None:
        raise GramlockError(f"no entry {entry_id} in the ledger")
    if json_output:
        emit(_plain(entry.to_dict()))
    else:
        _print_entry(entry)
    return BAD if entry.unresolved else OK


@ledger.command()
@reported
def reconcile(
    tools: Annotated[
        str,
        typer.Option(
            help="Where the application keeps its tools: a ToolSet, a list of tools, or a function "
            "that makes one.",
            metavar="MODULE:NAME",
        ),
    ],
    where: Where = "gramlock-ledger.db",
    tool: OfTool = None,
    entry: Annotated[
        list[str] | None,
        typer.Option(help="Only this entry; may be repeated.", metavar="ID"),
    ] = None,
    json_output: JsonOutput = False,
) -> int:
    """Ask the receivers what became of unresolved writes, by the tools' status look-ups.

    Nothing is sent again. Exit code 1 if something stays unresolved.
    """
    from ..tools.reconciliation import reconcile_async

    chosen = _load_tools(tools)
    with _open(where) as opened:
        reports = asyncio.run(reconcile_async(opened, chosen, entries=entry, tool=tool))
    if json_output:
        emit({"reconciled": [_plain(report.to_dict()) for report in reports]})
    else:
        _print_reports(reports)
    return OK if all(report.resolved for report in reports) else BAD


def _open(where: str) -> Ledger:
    from ..tools.ledger import Ledger

    return Ledger(where, create=False)


def _load_tools(place: str) -> Iterable[Tool]:
    """What ``MODULE:NAME`` names: a ToolSet, a list of tools, or a dispatcher's."""
    return tools_in(load_named(place, "--tools"), "--tools")


def _print_entries(entries: Iterable[Entry]) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("id", "state", "tool", "principal", "operation", "begun", "evidence"):
        table.add_column(column, no_wrap=column == "id", overflow="fold")
    for entry in entries:
        last = entry.evidence[-1] if entry.evidence else None
        table.add_row(
            entry.id,
            entry.state,
            _shown(entry.key.tool),
            _shown(entry.key.principal),
            _shown(entry.key.operation_id),
            _time(entry.created),
            "" if last is None else _shown(f"{last.kind} ×{last.times}"),
        )
    if table.row_count:
        out.print(table)
    count = table.row_count
    out.print(f"{count} {'write' if count == 1 else 'writes'} unresolved")


def _print_entry(entry: Entry) -> None:
    record = entry.to_dict()
    evidence = record.pop("evidence")
    record |= record.pop("key")
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column("", style="bold", no_wrap=True)
    table.add_column("", overflow="fold")
    for name, value in record.items():
        if name in ("created", "updated", "expires", "lease_until"):
            value = _time(value)
        table.add_row(name, _shown(value))
    for each in evidence:
        seen = f"{_time(each['first_at'])} to {_time(each['last_at'])}, ×{each['times']}"
        table.add_row(_shown(f"evidence: {each['kind']}"), _shown(f"{seen}: {each['data']}"))
    out.print(table)


def _print_reports(reports: Iterable[Reconciliation]) -> None:
    count = still = 0
    for report in reports:
        count += 1
        still += not report.resolved
        colour = "green" if report.resolved else "yellow"
        key = report.entry.key
        name = f"{_shown(key.tool)} {_shown(key.operation_id)}"
        states = f"{report.before.state} → {report.entry.state}"
        out.print(f"{report.entry.id}  {name}  [{colour}]{states}[/{colour}]: {report.message}")
    out.print(f"{count} asked about, {still} still unresolved")


def _time(seconds: float) -> str:
    try:
        moment = datetime.fromtimestamp(seconds, timezone.utc)
    except (OverflowError, OSError, ValueError):
        return f"{seconds:.0f}"
    return moment.strftime("%Y-%m-%d %H:%M:%S UTC")


def _shown(value: Any) -> str:
    """A value on a terminal: nothing in it is markup or a control sequence."""
    text = "-" if value is None else str(value)
    text = text if len(text) <= 2_000 else f"{text[:2_000]}… ({len(text):,} characters)"
    return escape("".join(c if c.isprintable() else ascii(c)[1:-1] for c in text))


def _plain(value: Any) -> Any:
    """JSON that can be printed: text without lone surrogates."""
    if isinstance(value, dict):
        return {_plain(name): _plain(member) for name, member in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    return value
