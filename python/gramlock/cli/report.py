"""How commands speak: results on stdout, everything else on stderr, an exit code for scripts.

Commands raise; :func:`reported` turns each error of the package into one message and the exit code
of its kind, so a traceback means a bug. With ``--json`` the error is a document on stdout as well.
"""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Callable
from dataclasses import asdict
from typing import Any, TypeVar

import typer
from rich.console import Console
from rich.markup import escape

from ..errors import GramlockError, GrammarError, LimitError, MatcherError

__all__ = ["BAD", "OK", "REFUSED", "STUCK", "USAGE", "emit", "notes", "out", "reported"]

OK, BAD, USAGE, REFUSED, STUCK = range(5)

_PIPE = 160  # columns where there is no terminal to ask

#: For results, and for everything else.
out = Console(highlight=False, soft_wrap=True, width=None if sys.stdout.isatty() else _PIPE)
notes = Console(stderr=True, highlight=False, soft_wrap=True)

Command = TypeVar("Command", bound=Callable[..., int])


def reported(command: Command) -> Command:
    """A command that returns its exit code and may raise, as typer wants it."""

    @functools.wraps(command)
    def run(*args: Any, **kwargs: Any) -> None:
        try:
            code = command(*args, **kwargs)
        except GramlockError as error:
            code = _explain(error)
            if kwargs.get("json_output"):
                emit(_document(error))
        except BrokenPipeError:
            sys.stderr.close()
            code = OK
        raise typer.Exit(code)

    return run  # type: ignore[return-value]


def _explain(error: GramlockError) -> int:
    """Say what is wrong on stderr."""
    if isinstance(error, GrammarError):
        kind = type(error).__name__.removesuffix("Error")
        words = {
            "InvalidSchema": "this is not a valid JSON Schema",
            "UnsupportedSchema": "these parts of the schema cannot be enforced",
            "Unsatisfiable": "nothing satisfies this",
        }.get(kind, "this cannot be used")
        notes.print(f"[red]{words}:[/red]")
        for place in error.places:
            notes.print(f"  {escape(str(place))}")
        return REFUSED
    notes.print(f"[red]error:[/red] {escape(str(error))}")
    return STUCK if isinstance(error, LimitError | MatcherError) else USAGE


def _document(error: GramlockError) -> dict[str, Any]:
    """An error as data: its class, its message, and the places that a grammar's error lists."""
    record: dict[str, Any] = {"error": type(error).__name__, "message": str(error)}
    if isinstance(error, GrammarError):
        record["places"] = [
            {name: value for name, value in asdict(place).items() if value is not None}
            for place in error.places
        ]
    return record


def emit(value: Any) -> None:
    """Machine output: one JSON document on stdout."""
    typer.echo(json.dumps(value, ensure_ascii=False, indent=2))
