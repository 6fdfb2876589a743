"""Patterns whose assertions depend on their surroundings.                 Tested by test_regex.py.

A pattern becomes a union of *paths*: a path is a sequence of pieces (expressions without
assertions) and conditions between them. Alternatives are multiplied out only where an assertion
stands inside. Then, path by path,

1. a condition on one neighbouring character (``^ $ \\b (?=,)``) moves into the piece on that
   side: ``p`` becomes ``p & any.C``; a piece that may be empty is also tried as empty, and then the
   condition looks through it. So ``(a?)\\bb`` is ``(a, then b: never) | (nothing, then b)``.
2. a longer look-ahead holds for the rest of the text, a look-behind for the text so far. Where the
   pieces next to it are long enough to decide it, it holds for those alone. Each is an interval of
   the path; intervals that are nested or disjoint are intersections: ``e (?=X) r`` is
   ``e.(X.any & r)``.
3. the body of a loop is translated by itself if its own pieces decide all its conditions.

A loop whose body looks outside it goes to ``regex_loop.py`` if by a character, to
``regex_far_loop.py`` if further ahead. What is left, intervals that cross, longer look-behind out
of a loop, too many paths, goes to ``regex_automaton.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Final

from gramlock.syntax import charclass as cc
from gramlock.syntax.regex_expr import Translator
from gramlock.syntax.regex_far_loop import far_loop_paths
from gramlock.syntax.regex_loop import loop_paths
from gramlock.syntax.regex_path import (
    Beyond,
    Condition,
    Far,
    Item,
    Near,
    Path,
    Piece,
    Pieces,
    Resolved,
)
from gramlock.syntax.regex_tree import Alternation, Concat, Edge, Look, Node, Repeat, WordEdge

__all__ = ["compile_asserting"]

MAX_PATHS: Final = 2000
FEW_COPIES: Final = 4  # of a loop's body: better than anything else
MANY_COPIES: Final = 64  # better than an automaton


@dataclass
class _State:
    """A path under resolution; ``conditions[k]`` stand before ``pieces[k]``."""

    pieces: list[Piece]
    conditions: list[list[Condition]]


class _Compiler:
    """Compiles one tree."""

    def __init__(self, nodes: Sequence[Node], translator: Translator) -> None:
        self.store = translator.store
        self.translator = translator
        self.nodes = nodes
        self.pieces = Pieces(nodes, translator)

    # -- tree to paths ---------------------------------------------------------------------------

    def expand(self, node: Node) -> list[Path]:
        """Return the paths of a node; none if it never matches."""
        if not node.asserts:
            return [(self.pieces.of(node),)]
        if isinstance(node, Edge):
            return [(Near(node.ahead, node.members, node.boundary),)]
        if isinstance(node, WordEdge):
            return _word_paths(node)
        if isinstance(node, Look):
            return self._look(node)
        if isinstance(node, Repeat):
            return self._repeat(node)
        if isinstance(node, Concat):
            return self._product([self.expand(item) for item in self._shortened(node.items)])
        assert isinstance(node, Alternation)
        paths = [path for item in node.items if item.asserts for path in self.expand(item)]
        plain = [self.pieces.of(item) for item in node.items if not item.asserts]
        return paths + ([(self.pieces.either(plain),)] if plain else [])

    def _shortened(self, items: Sequence[Node]) -> list[Node]:
        """Take long runs of assertion-free items as one, but for two at either end."""
        short: list[Node] = []
        for asserts, group in groupby(items, lambda item: item.asserts):
            run = list(group)
            if not asserts and len(run) > 5:
                middle = Concat(run[2:-2])
                middle.index = len(self.pieces.shapes)
                self.pieces.shapes.append(
                    self.pieces.joined([self.pieces.of(item) for item in run[2:-2]])
                )
                run = [*run[:2], middle, *run[-2:]]
            short += run
        return short

    def _product(self, factors: Sequence[list[Path]]) -> list[Path]:
        """Return every way to take one path of each factor, less those seen to be impossible."""
        paths: list[Path] = [()]
        for options in factors:
            if len(paths) * len(options) > MAX_PATHS:
                raise Beyond
            joined = [_append(path, option) for path in paths for option in options]
            paths = [path for path in joined if path is not None]
        return paths

    def _look(self, node: Look) -> list[Path]:
        """Return the conditions that a look-around makes, as alternatives."""
        near = self._one_character(node.item, node.ahead)
        if near is not None:
            return [(near.negated() if node.negated else near,)]
        if not node.item.asserts:
            piece = self.pieces.of(node.item)
            if piece.low == 0:
                return [] if node.negated else [()]
            parts = [piece.expr, self.pieces.any] if node.ahead else [self.pieces.any, piece.expr]
            expr = self.store.concat(parts)
            if node.negated:
                expr = self.store.complement(expr)
            return [(Far(node.ahead, expr, piece.high),)]
        return self._nested_look(node)

    def _one_character(self, node: Node, ahead: bool) -> Near | None:
        """Return what a look-around asks if it only looks at one character, or at the end."""
        if not node.asserts:
            members = self.pieces.of(node).members
            return None if members is None else Near(ahead, members, boundary=False)
        if isinstance(node, Edge) and node.ahead is ahead:
            return Near(ahead, node.members, node.boundary)
        if isinstance(node, Alternation):
            parts = [self._one_character(item, ahead) for item in node.items]
            known = [part for part in parts if part is not None]
            if len(known) == len(parts):
                members = cc.union(*(part.members for part in known))
                return Near(ahead, members, any(part.boundary for part in known))
        return None

    def _nested_look(self, node: Look) -> list[Path]:
        """Return the conditions of a look-around with assertions inside."""
        cases: list[tuple[Condition, ...]] = []
        plain: list[int] = []
        for path in self.expand(node.item):
            ends = (*path, self.pieces.whole) if node.ahead else (self.pieces.whole, *path)
            for one in self.resolve(ends, left_open=node.ahead, right_open=not node.ahead):
                outside = one.left + one.right
                if outside:
                    cases.append((*outside, Far(node.ahead, one.piece.expr, None)))
                else:
                    plain.append(one.piece.expr)
        if plain:
            cases.append((Far(node.ahead, self.store.union(plain), None),))
        if not node.negated:
            return [tuple(case) for case in cases]
        return self._product([[(self._negate(one),) for one in case] for case in cases])

    def _negate(self, condition: Condition) -> Condition:
        if isinstance(condition, Near):
            return condition.negated()
        return condition._replace(expr=self.store.complement(condition.expr))

    def _repeat(self, node: Repeat) -> list[Path]:
        """Return the paths of a repeat: a piece if its body decides itself, else its iterations."""
        bodies = self.expand(node.items[0])
        if not bodies:
            return [()] if node.low == 0 else []
        closed = None if node.high == 1 else self._closed(bodies)
        if closed is not None:
            return [(self.pieces.repeated(closed, node.low, node.high),)]
        if all(_takes_nothing(item) for body in bodies for item in body):
            # An iteration that takes no characters: required once, it holds however often.
            return [()] if node.low == 0 else bodies
        return self._unrolled(node, bodies)

    def _unrolled(self, node: Repeat, bodies: list[Path]) -> list[Path]:
        """Return the paths of a repeat whose body looks outside, iteration by iteration."""
        low, high = node.low, node.high
        if high is not None and high <= FEW_COPIES and len(bodies) ** high <= MANY_COPIES:
            return self._copies(bodies, low, high)
        if all(_takes_one(body) for body in bodies):
            more = [self._counted(path, max(low, 1), high) for path in self._more(node, bodies)]
            return more if low else [(), *more]
        if high is None:
            more = self._more(node, bodies)
            return self._product([*([bodies] * (low - 1)), more]) if low else [(), *more]
        if high > MANY_COPIES or len(bodies) ** high > MAX_PATHS:
            raise Beyond
        return self._copies(bodies, low, high)

    def _copies(self, bodies: list[Path], low: int, high: int) -> list[Path]:
        copies = range(low, high + 1)
        return [path for count in copies for path in self._product([bodies] * count)]

    def _more(self, node: Repeat, bodies: Sequence[Path]) -> list[Path]:
        """Return the paths of one iteration or more, however many."""
        try:
            return loop_paths(self._iterations(bodies), self.pieces)
        except Beyond:
            paths = far_loop_paths(node, self.nodes, self.pieces, self.translator)
        return paths + [
            tuple(item for item in body if not isinstance(item, Piece))
            for body in bodies
            if all(item.low == 0 for item in body if isinstance(item, Piece))
        ]

    def _counted(self, path: Path, low: int, high: int | None) -> Path:
        """Restrict the length of a path's piece: the count of iterations of one character each."""
        if (low, high) == (1, None):
            return path
        count = self.store.repeat(self.translator.set(cc.ALL), low, high)
        return tuple(
            replace(item, expr=self.store.intersect([item.expr, count]), low=low, high=high)
            if isinstance(item, Piece)
            else item
            for item in path
        )

    def _iterations(self, bodies: Sequence[Path]) -> list[Resolved]:
        return [one for body in bodies for one in self.resolve(body, True, True)]

    def _closed(self, bodies: Sequence[Path]) -> Piece | None:
        """Return the piece of a loop's body, or None if it looks outside."""
        try:
            resolved = self._iterations(bodies)
        except Beyond:
            return None
        if any(one.left or one.right for one in resolved):
            return None
        if not resolved:
            return Piece(self.store.NEVER, 1, 1, cc.EMPTY, cc.EMPTY)
        return self.pieces.either([one.piece for one in resolved])

    # -- paths to expressions --------------------------------------------------------------------

    def resolve(self, path: Path, left_open: bool, right_open: bool) -> list[Resolved]:
        """Move every condition into the pieces.

        Args:
            path: Without a :class:`Loop`.
            left_open: Unknown text lies before the path; else the text begins here.
            right_open: Unknown text lies after it.

        Returns:
            Alternatives; conditions that reach an open end are left to the caller.

        Raises:
            Beyond: A condition crosses an open end, or another condition.
        """
        work = [_split(path)]
        done: list[Resolved] = []
        while work:
            state = work.pop()
            place = _next_near(state, left_open, right_open)
            if place is not None:
                work += self._settle(state, place, left_open, right_open)
                if len(work) + len(done) > MAX_PATHS:
                    raise Beyond
            elif all(piece.expr != self.store.NEVER for piece in state.pieces):
                done.append(self._fold(state, left_open, right_open))
        return done

    def _settle(
        self, state: _State, place: tuple[int, Near], left_open: bool, right_open: bool
    ) -> list[_State]:
        """Move one near condition into the piece it looks at, or through it."""
        at, near = place
        conditions = [list(one) for one in state.conditions]
        conditions[at].remove(near)
        index = at if near.ahead else at - 1
        if not 0 <= index < len(state.pieces):
            return [_State(state.pieces, conditions)] if near.boundary else []
        piece = state.pieces[index]
        outermost = index == (len(state.pieces) - 1 if near.ahead else 0)
        closed = outermost and not (right_open if near.ahead else left_open)
        keep_empty = piece.low == 0 and closed and near.boundary
        results = []
        if piece.low == 0 and not closed:
            merged = conditions[index] + conditions[index + 1]
            shorter = [*conditions[:index], [*merged, near], *conditions[index + 2 :]]
            results.append(_State(state.pieces[:index] + state.pieces[index + 1 :], shorter))
        seen = piece.first if near.ahead else piece.last
        allowed = cc.intersection(seen, near.members)
        if allowed or keep_empty:
            if allowed != seen or (piece.low == 0 and not keep_empty):
                piece = self.pieces.narrowed(piece, near, keep_empty)
            pieces = [*state.pieces[:index], piece, *state.pieces[index + 1 :]]
            results.append(_State(pieces, conditions))
        return results

    def _fold(self, state: _State, left_open: bool, right_open: bool) -> Resolved:
        """Turn far conditions into intersections over intervals of the path."""
        count = len(state.pieces)
        left: list[Condition] = []
        right: list[Condition] = []
        spans: list[tuple[int, int, int]] = []
        for at, conditions in enumerate(state.conditions):
            for one in conditions:
                if left_open and at == 0 and not one.ahead:
                    left.append(one)
                elif right_open and at == count and one.ahead:
                    right.append(one)
                else:
                    assert isinstance(one, Far)
                    start, end = self._span(state.pieces, at, one, left_open, right_open)
                    spans.append((start, end, one.expr))
        return Resolved(tuple(left), self._intersected(state.pieces, spans), tuple(right))

    def _span(
        self, pieces: Sequence[Piece], at: int, far: Far, left_open: bool, right_open: bool
    ) -> tuple[int, int]:
        """Return the interval of pieces that decides a far condition."""
        step = 1 if far.ahead else -1
        end, length = at, 0
        while far.width is not None and 0 <= end - (step < 0) < len(pieces):
            length += pieces[end - (step < 0)].low
            end += step
            if length >= far.width:
                return (at, end) if far.ahead else (end, at)
        if right_open if far.ahead else left_open:
            raise Beyond
        return (at, len(pieces)) if far.ahead else (0, at)

    def _intersected(self, pieces: Sequence[Piece], spans: Sequence[tuple[int, int, int]]) -> Piece:
        """Apply conditions to intervals, smallest first; they must be nested or disjoint."""
        runs = [(k, k + 1, piece) for k, piece in enumerate(pieces)]
        for start, end, expr in sorted(spans, key=lambda span: span[1] - span[0]):
            if start == end:
                if not self._holds_empty(expr):
                    return Piece(self.store.NEVER, 0, 0, cc.EMPTY, cc.EMPTY)
                continue
            inside = [run for run in runs if start <= run[0] and run[1] <= end]
            if not inside or inside[0][0] != start or inside[-1][1] != end:
                raise Beyond
            whole = self.pieces.joined([run[2] for run in inside])
            piece = replace(whole, expr=self.store.intersect([whole.expr, expr]), members=None)
            place = runs.index(inside[0])
            runs[place : place + len(inside)] = [(start, end, piece)]
        if not runs:
            return Piece(self.store.EPSILON, 0, 0, cc.EMPTY, cc.EMPTY)
        return self.pieces.joined([run[2] for run in runs])

    def _holds_empty(self, expr: int) -> bool:
        return self.store.matches(expr, b"")

    def compile(self, root: Node, search: bool) -> int:
        """Return the expression of a whole pattern."""
        options: list[int] = []
        for path in self.expand(root):
            if search:
                path = (self.pieces.whole, *path, self.pieces.whole)
            options += [one.piece.expr for one in self.resolve(path, False, False)]
        return self.store.union(options)


def _takes_one(body: Path) -> bool:
    """Tell whether an iteration takes one character, exactly."""
    pieces = [item for item in body if isinstance(item, Piece)]
    return len(pieces) == 1 and pieces[0].low == 1 == pieces[0].high


def _takes_nothing(item: Item) -> bool:
    return isinstance(item, (Near, Far)) or (isinstance(item, Piece) and item.high == 0)


def _word_paths(node: WordEdge) -> list[Path]:
    """Return ``\\b`` or ``\\B`` as alternatives of two conditions."""
    before, after = Near(False, node.word, False), Near(True, node.word, False)
    if node.negated:
        return [(before, after), (before.negated(), after.negated())]
    return [(before, after.negated()), (before.negated(), after)]


def _append(path: Path, option: Path) -> Path | None:
    """Join two paths; conditions that their neighbours decide are dropped, or return None."""
    items = list(path)
    for item in option:
        if isinstance(item, Near) and not item.ahead:
            verdict = _decided(item, _neighbour(items))
            if verdict is False:
                return None
            if verdict:
                continue
        if isinstance(item, Piece) and item.low:
            start = _trailing(items)
            verdicts = [_decided_ahead(one, item) for one in items[start:]]
            if False in verdicts:
                return None
            items[start:] = [
                one for one, known in zip(items[start:], verdicts, strict=True) if not known
            ]
        items.append(item)
    return tuple(items)


def _decided(near: Near, piece: Piece | None) -> bool | None:
    """Tell whether a condition holds next to *piece* in any case (True), in none, or in some."""
    if piece is None or not piece.low:
        return None
    seen = piece.first if near.ahead else piece.last
    allowed = cc.intersection(seen, near.members)
    return True if allowed == seen else None if allowed else False


def _neighbour(items: Sequence[Item]) -> Piece | None:
    """Return the last piece before the conditions at the end of *items*."""
    for item in reversed(items):
        if isinstance(item, Piece):
            return item
    return None


def _decided_ahead(item: Item, piece: Piece) -> bool | None:
    """Tell whether *item* is a condition on the next character that *piece* decides."""
    return _decided(item, piece) if isinstance(item, Near) and item.ahead else None


def _trailing(items: Sequence[Item]) -> int:
    """Return where the conditions at the end of *items* start."""
    start = len(items)
    while start and isinstance(items[start - 1], (Near, Far)):
        start -= 1
    return start


def _split(path: Path) -> _State:
    """Sort a path into pieces and the conditions between them."""
    state = _State([], [[]])
    for item in path:
        if isinstance(item, Piece):
            state.pieces.append(item)
            state.conditions.append([])
        elif item not in state.conditions[-1]:
            state.conditions[-1].append(item)
    return state


def _next_near(state: _State, left_open: bool, right_open: bool) -> tuple[int, Near] | None:
    """Return the place of a near condition that is not one on what lies outside."""
    last = len(state.pieces)
    for at, conditions in enumerate(state.conditions):
        for one in conditions:
            if isinstance(one, Near):
                outside = (right_open and at == last) if one.ahead else (left_open and at == 0)
                if not outside:
                    return at, one
    return None


def compile_asserting(
    root: Node, nodes: Sequence[Node], translator: Translator, search: bool
) -> int:
    """Return the expression of a pattern with assertions; see :func:`regex_expr.compile_tree`."""
    try:
        return _Compiler(nodes, translator).compile(root, search)
    except Beyond:
        from gramlock.syntax.regex_automaton import compile_automaton

        return compile_automaton(root, nodes, translator, search)
