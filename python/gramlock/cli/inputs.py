"""Reading schemas and instances, and the options that several commands have."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import GramlockError
from ..grammar import Grammar
from ..schema import SchemaOptions

if TYPE_CHECKING:
    from ..tools.toolset import ToolSet

__all__ = [
    "DEFAULTS",
    "Formats",
    "JsonOutput",
    "Numbers",
    "Order",
    "Relax",
    "Whitespace",
    "compile_schema",
    "load_named",
    "tools_in",
    "read_json",
    "read_lines",
]

DEFAULTS = SchemaOptions()

Order = Annotated[str, typer.Option(help="Order of members: declared or any.")]
Whitespace = Annotated[
    str, typer.Option(help="White space: bounded, compact, flexible, or a pattern for every gap.")
]
Numbers = Annotated[str, typer.Option(help="Spelling of numbers: canonical or any.")]
Formats = Annotated[str, typer.Option(help="What format means: assert or annotate.")]
Relax = Annotated[
    bool, typer.Option("--relax", help="Leave out what cannot be enforced, and say what.")
]
JsonOutput = Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")]


def read_json(path: Path) -> Any:
    """The JSON document in a file.

    Raises:
        GramlockError: It cannot be read or is not JSON; the message says where.
    """
    text = _read(path)
    try:
        return json.loads(text)
    except RecursionError as error:
        raise GramlockError(f"{path} is nested too deeply") from error
    except ValueError as error:
        raise GramlockError(f"{path} is not JSON: {error}") from error


def read_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Number and text of each line of a file that is not blank."""
    for number, line in enumerate(_read(path).split("\n"), 1):  # no other character ends a line
        if line.strip():
            yield number, line.strip()


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise GramlockError(f"cannot read {path}: {reason}") from error


def compile_schema(
    path: Path, order: str, whitespace: str, numbers: str, formats: str, relax: bool
) -> tuple[Any, Grammar]:
    """The schema in a file, and its grammar under the given options."""
    schema = read_json(path)
    try:
        grammar = Grammar.from_json_schema(
            schema,
            order=order,
            whitespace=whitespace,
            numbers=numbers,
            formats=formats,
            on_unsupported="relax" if relax else "error",
        )
    except ValueError as error:
        raise GramlockError(str(error)) from error
    return schema, grammar


def load_named(place: str, what: str) -> Any:
    """What ``MODULE:NAME`` names, called if it is a function; modules of the current folder are
    found, too. *what* names it in messages."""
    module, _, name = place.partition(":")
    if not module or not name:
        raise GramlockError(f"{what}: expected MODULE:NAME, got {place}")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        found: Any = import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
        return found() if callable(found) else found
    except GramlockError:
        raise
    except Exception as error:
        raise GramlockError(f"{what} {place}: {type(error).__name__}: {error}") from error


def tools_in(found: Any, what: str) -> ToolSet:
    """The tools of what a module names: a ToolSet, a list of tools, or what holds either."""
    from ..tools.toolset import ToolSet

    held = getattr(found, "tools", found)
    try:
        return held if isinstance(held, ToolSet) else ToolSet(held)
    except (TypeError, GramlockError) as error:
        raise GramlockError(f"{what}: no tools: {error}") from None
