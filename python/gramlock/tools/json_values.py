"""What JSON can express, checked before anything else looks at a value.

A value from a parser is plain data; one from a handler, a test or a database may hold tuples, sets,
NaN, names that are no strings, or itself. Nothing below this check has to expect them, and nothing
recurses deeper than it allows.

Thread-safe. Cost: one visit of each value; no recursion.

Tested by tests/test_tools_validate.py.
"""

from __future__ import annotations

from decimal import Decimal
from math import isfinite
from typing import Any, NamedTuple

from .pointer import Place
from .violation import type_name

__all__ = ["MAX_DEPTH", "Fault", "fault_in"]

#: How deep a value may nest, as in :mod:`gramlock.tools.json_text`.
MAX_DEPTH = 200

_SCALARS = (str, int, type(None))  # bool is an int


class Fault(NamedTuple):
    """Why a value is none of JSON: where, by which rule, what was expected, what is there."""

    place: Place
    rule: str
    expected: str
    got: str


def fault_in(value: Any, depth: int = MAX_DEPTH) -> Fault | None:
    """The first thing in a value that JSON cannot express or that nests too deep; None if none.

    Args:
        value: Anything.
        depth: How many levels of arrays and objects there may be.
    """
    # Most values are a flat object of scalars: these cost one pass without a stack.
    if isinstance(value, _SCALARS):
        return None
    children: Any
    stack: list[tuple[Any, Any]] = [(value, None)]  # values, and the linked places they stand at
    while stack:
        value, place = stack.pop()
        items = children = None
        if isinstance(value, dict):
            children = value.items()
        elif isinstance(value, list):
            items = children = enumerate(value)
        elif isinstance(value, float | Decimal) and _is_finite(value):
            continue
        else:
            return _named(value, place)
        level = 1 if place is None else place[2] + 1
        if level > depth:
            return Fault(_place(place), "depth", f"at most {depth} levels", "more")
        for token, child in children:
            if not isinstance(token, str) and children is not items:
                return Fault(_place(place), "type", "names that are strings", f"{token!r:.80}")
            if not isinstance(child, _SCALARS):
                stack.append((child, (place, token, level)))
    return None


def _is_finite(value: float | Decimal) -> bool:
    return value.is_finite() if isinstance(value, Decimal) else isfinite(value)


def _named(value: Any, place: Any) -> Fault:
    got = str(value) if isinstance(value, float | Decimal) else type_name(value)
    return Fault(_place(place), "type", "a value that JSON can express", got)


def _place(place: Any) -> Place:
    found: list[str | int] = []
    while place is not None:
        place, token, _ = place
        found.append(token)
    return tuple(reversed(found))
