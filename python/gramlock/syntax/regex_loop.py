"""Loops whose bodies look at the characters next to them.                 Tested by test_regex.py.

In ``(?:a(?=b)|b(?<=^b))*`` an iteration asks something of the character before or after it. An
iteration that takes no character only adds conditions, so it may be left out once enough iterations
are made. Between two that take some, each asks about a character of the other: sort them by their
first and last character, as finely as the conditions need, and it is a matter of graph which may
follow which. What the first and the last iteration ask of the outside stays a condition of the
path. So a loop becomes paths again: ``(conditions, piece, conditions)`` for each pair of first and
last body, and whatever surrounds it need not know.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from gramlock.syntax import charclass as cc
from gramlock.syntax.charclass import Ranges
from gramlock.syntax.regex_graph import Graph
from gramlock.syntax.regex_path import Beyond, Condition, Near, Path, Piece, Pieces, Resolved

__all__ = ["loop_paths"]


_Nears = tuple[Near, ...]


class _Body(NamedTuple):
    """Iterations that take a character and ask the same of their neighbours."""

    left: _Nears
    right: _Nears
    piece: Piece


class _Sorted(NamedTuple):
    """A body cut to some first and last characters."""

    body: int
    first: Ranges
    last: Ranges
    expr: int


def _nears(conditions: Sequence[Condition]) -> _Nears:
    if any(not isinstance(one, Near) for one in conditions):
        raise Beyond
    return tuple(sorted({one for one in conditions if isinstance(one, Near)}))


def _bodies(resolved: Sequence[Resolved], pieces: Pieces) -> tuple[list[_Body], list[Path]]:
    """Split a loop's iterations into those that take a character and those that take none."""
    grouped: dict[tuple[_Nears, _Nears], list[Piece]] = {}
    empty: list[Path] = []
    for one in resolved:
        if one.piece.low == 0:
            empty.append((*one.left, *one.right))
        if one.piece.high != 0:
            sides = _nears(one.left), _nears(one.right)
            grouped.setdefault(sides, []).append(pieces.nonempty(one.piece))
    bodies = [_Body(*key, pieces.either(group)) for key, group in grouped.items()]
    return bodies, empty


def _classes(conditions: Iterable[_Nears]) -> list[Ranges]:
    """Cut the characters into classes that the conditions do not tell apart."""
    classes: list[Ranges] = [cc.ALL]
    for members in sorted({near.members for group in conditions for near in group}):
        halves = [
            part
            for one in classes
            for part in (cc.intersection(one, members), cc.subtract(one, members))
        ]
        classes = [part for part in halves if part]
    return classes


def _sorted(bodies: Sequence[_Body], pieces: Pieces) -> list[_Sorted]:
    """Cut every body by first and last character."""
    firsts = _classes(body.right for body in bodies)
    lasts = _classes(body.left for body in bodies)
    found = []
    for number, body in enumerate(bodies):
        for first in firsts:
            head = pieces.cut(body.piece, Near(True, first, boundary=False))
            for last in lasts:
                both = pieces.cut(head, Near(False, last, boundary=False))
                if both.expr != pieces.store.NEVER:
                    found.append(_Sorted(number, first, last, both.expr))
    return found


def _allows(conditions: _Nears, members: Ranges) -> bool:
    """Tell whether a character of one class meets all conditions."""
    return all(cc.intersection(near.members, members) for near in conditions)


def _joined(
    bodies: Sequence[_Body], found: Sequence[_Sorted], first: int, last: int, pieces: Pieces
) -> int:
    """Return the sequences of iterations from body *first* to body *last*."""
    count = len(found)
    graph = Graph(pieces.store, count + 2)
    for place, one in enumerate(found):
        if one.body == first:
            graph.add(count, place, one.expr)
        if one.body == last:
            graph.add(place, count + 1, pieces.store.EPSILON)
        for other, after in enumerate(found):
            right, left = bodies[one.body].right, bodies[after.body].left
            if _allows(right, after.first) and _allows(left, one.last):
                graph.add(place, other, after.expr)
    return graph.between(count, count + 1)


def loop_paths(resolved: Sequence[Resolved], pieces: Pieces) -> list[Path]:
    """Return the paths of one or more iterations.

    Raises:
        Beyond: An iteration asks for more than its neighbours' nearest characters.
    """
    bodies, paths = _bodies(resolved, pieces)
    found = _sorted(bodies, pieces)
    for first, before in enumerate(bodies):
        for last, after in enumerate(bodies):
            expr = _joined(bodies, found, first, last, pieces)
            if expr != pieces.store.NEVER:
                low = before.piece.low if first == last else before.piece.low + after.piece.low
                piece = Piece(expr, low, None, before.piece.first, after.piece.last)
                paths.append((*before.left, piece, *after.right))
    return paths
