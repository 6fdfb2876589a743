"""Loops whose bodies look further ahead than their next character.       Tested by test_regex.py.

In ``(?:(?!end).)*`` every iteration says something about the rest of the text. Run alone, from its
beginning to wherever it stops, the loop is an automaton: after some characters it has iterated
completely, under a formula about what follows (``regex_places.py``). Sorted by that formula, the
texts that the loop takes are a few expressions: for ``end`` those that stop after no part of it,
after ``e``, after ``en``; behind the second the text must not go on with ``nd``. So this loop, too,
becomes paths: ``(piece, conditions)``.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from gramlock.syntax import charclass as cc
from gramlock.syntax.regex_automaton import Table, explore
from gramlock.syntax.regex_expr import Translator
from gramlock.syntax.regex_formula import FALSE, Clause, Formula
from gramlock.syntax.regex_path import Beyond, Condition, Far, Near, Path, Piece, Pieces
from gramlock.syntax.regex_places import ENDS_ANYWHERE, ENDS_HERE, Next, Places, classes_of
from gramlock.syntax.regex_tree import (
    Alternation,
    Concat,
    Edge,
    Literal,
    Look,
    Node,
    Repeat,
    WordEdge,
)

__all__ = ["far_loop_paths"]

# The places inside the loop with their formulas, and the formula under which it may stop here.
_State = tuple[frozenset[tuple[int, Formula]], Formula]


def _within(node: Node) -> list[Node]:
    """Return a node and all nodes below it."""
    found = [node]
    for one in found:
        if isinstance(one, (Alternation, Concat, Repeat)):
            found += one.items
        elif isinstance(one, Look):
            found.append(one.item)
    return found


def _looks_back(node: Node) -> bool:
    return isinstance(node, WordEdge) or (isinstance(node, (Look, Edge)) and not node.ahead)


def _split(reached: dict[int, Formula]) -> _State:
    here = reached.pop(ENDS_HERE, FALSE)
    return frozenset((place, when) for place, when in reached.items() if when), here


class _Conditions:
    """Makes conditions of a path from atoms."""

    def __init__(self, places: Places, pieces: Pieces, translator: Translator) -> None:
        self.places = places
        self.pieces = pieces
        self.translator = translator

    def of(self, clause: Clause) -> list[Condition]:
        """Return the conditions of a clause, in a fixed order."""
        ordered = sorted(clause, key=lambda one: (isinstance(one[0], Next), one))
        return [self._condition(name, sign) for name, sign in ordered]

    def _condition(self, name: Hashable, sign: bool) -> Condition:
        if isinstance(name, Next):
            near = Near(True, name.members, name.boundary)
            return near if sign else near.negated()
        assert isinstance(name, int)
        piece = self.pieces.joined([*self._parts(name), self.pieces.whole])
        width = self.pieces.joined(self._parts(name)).high
        store = self.pieces.store
        return Far(True, piece.expr if sign else store.complement(piece.expr), width)

    def _parts(self, place: int) -> list[Piece]:
        """Return what a place asks for, as pieces."""
        parts = []
        while place >= 0:
            (index, low, high), rest = self.places.places[place]
            node = self.places.nodes[index]
            if node.asserts:
                raise Beyond
            piece = self.pieces.of(node)
            if isinstance(node, Literal) and low > 0:
                expr = self.translator.literal(node.text[low:])
                size = len(node.text) - low
                piece = Piece(expr, size, size, cc.ALL, piece.last)
            elif isinstance(node, Repeat):
                piece = self.pieces.repeated(self.pieces.of(node.items[0]), low, high)
            parts.append(piece)
            place = rest
        if place != ENDS_ANYWHERE:
            raise Beyond
        return parts


def _stopping(
    table: Table, formula: Formula, classes: Sequence[cc.Ranges], translator: Translator
) -> int:
    """Return the texts of one character or more after which the loop may stop under *formula*."""
    graph = table.graph(classes, translator)
    start, end = len(table.moves), len(table.moves) + 1
    for after, expr in list(graph.out[0].items()):
        graph.add(start, after, expr)
    for state, label in enumerate(table.labels):
        if label == formula:
            graph.add(state, end, translator.store.EPSILON)
    return graph.between(start, end)


def far_loop_paths(
    loop: Repeat, nodes: Sequence[Node], pieces: Pieces, translator: Translator
) -> list[Path]:
    """Return the paths of one or more iterations of a loop's body that take a character.

    Raises:
        Beyond: The body looks back, or a look-ahead in it holds another assertion.
        LimitError: Too many states, or formulas too large (``pattern_states``).
    """
    inside = _within(loop.items[0])
    if any(_looks_back(node) for node in inside):
        raise Beyond
    classes = classes_of(inside)
    places = Places(nodes, classes)
    start = _split(places.reach(places.number((loop.index, 0, None), ENDS_HERE)))
    table = explore(
        start,
        lambda state, number: _split(places.moved(state[0], classes[number][0][0])),
        len(classes),
        lambda state: state[1],
    )
    conditions = _Conditions(places, pieces, translator)
    paths: list[Path] = []
    for formula in dict.fromkeys(table.labels):
        assert isinstance(formula, frozenset)
        if formula == FALSE:
            continue
        expr = _stopping(table, formula, classes, translator)
        piece = Piece(expr, 1, None, cc.ALL, cc.ALL)
        for clause in sorted(formula, key=lambda one: sorted(map(repr, one))):
            paths.append((piece, *conditions.of(clause)))
    return paths
