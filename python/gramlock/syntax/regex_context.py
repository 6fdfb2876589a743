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

What is left, loops whose bodies look outside and intervals that cross, goes to
``regex_labels.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Union

from gramlock.errors import GrammarSyntaxError, LimitError
from gramlock.syntax import charclass as cc
from gramlock.syntax.charclass import Ranges
from gramlock.syntax.regex_expr import Translator
from gramlock.syntax.regex_tree import (
    Alternation,
    Concat,
    Edge,
    Literal,
    Look,
    Node,
    Repeat,
    Set,
    WordEdge,
)

__all__ = ["Far", "Loop", "Near", "Path", "Piece", "compile_asserting"]

MAX_PATHS: Final = 2000
MAX_UNROLLED: Final = 64


@dataclass(frozen=True)
class Piece:
    """An expression without assertions.

    Attributes:
        expr: The expression.
        low: Fewest characters.
        high: Most characters, or None.
        first: Every character it may begin with is in this set.
        last: Every character it may end with is in this set.
        members: If it is exactly one character out of a set, the set.
    """

    expr: int
    low: int
    high: int | None
    first: Ranges
    last: Ranges
    members: Ranges | None = None


@dataclass(frozen=True)
class Near:
    """A condition on the next (*ahead*) or the last character; *boundary*: holds if there is none."""

    ahead: bool
    members: Ranges
    boundary: bool

    def negated(self) -> Near:
        return Near(self.ahead, cc.complement(self.members), not self.boundary)


@dataclass(frozen=True)
class Far:
    """A condition on the rest of the text (*ahead*), or on the text so far.

    Attributes:
        expr: The rest, or the text so far, must be in this language.
        width: It is decided by so many characters, if there are as many; None if by no number.
        source: What it was made from, if without assertions: the tree of the look-around.
        positive: Whether *source* must match there.
    """

    ahead: bool
    expr: int
    width: int | None
    source: Node | None = None
    positive: bool = True


@dataclass(frozen=True)
class Loop:
    """A repeated body that looks outside itself, as the paths of the body."""

    bodies: tuple[Path, ...]
    low: int
    high: int | None


Condition = Union[Near, Far]
Item = Union[Piece, Near, Far, Loop]
Path = tuple[Item, ...]


class Beyond(Exception):
    """A path that intersections of intervals do not express."""


@dataclass(frozen=True)
class Resolved:
    """A path without conditions but those on what lies outside."""

    left: tuple[Condition, ...]
    piece: Piece
    right: tuple[Condition, ...]


@dataclass
class _State:
    """A path under resolution: ``conditions[k]`` stand before ``pieces[k]``, the last at the end."""

    pieces: list[Piece]
    conditions: list[list[Condition]]


class _Compiler:
    """Compiles one tree.

    Attributes:
        shapes: Piece of each assertion-free node by index, made when first asked for.
    """

    def __init__(self, nodes: Sequence[Node], translator: Translator) -> None:
        self.store = translator.store
        self.translator = translator
        self.any = translator.any
        self.whole = Piece(self.any, 0, None, cc.ALL, cc.ALL)
        self.shapes: list[Piece | None] = []
        for node in nodes:
            self.shapes.append(None if node.asserts else self._shape(node))

    # -- pieces ----------------------------------------------------------------------------------

    def _shape(self, node: Node) -> Piece:
        """Measure an assertion-free node; its children are measured already."""
        expr = self.translator.ids[node.index]
        if isinstance(node, Set):
            return Piece(expr, 1, 1, node.members, node.members, node.members)
        if isinstance(node, Literal):
            if not node.text:
                return Piece(expr, 0, 0, cc.EMPTY, cc.EMPTY)
            first, last = ord(node.text[0]), ord(node.text[-1])
            size = len(node.text)
            members = ((first, first),) if size == 1 else None
            return Piece(expr, size, size, ((first, first),), ((last, last),), members)
        if isinstance(node, Repeat):
            return self._repeated(self.piece(node.items[0]), node.low, node.high)
        parts = [self.piece(item) for item in node.items]
        return self.joined(parts, expr) if isinstance(node, Concat) else self._either(parts, expr)

    def piece(self, node: Node) -> Piece:
        """Return the piece of an assertion-free node."""
        found = self.shapes[node.index]
        assert found is not None
        return found

    def joined(self, parts: Sequence[Piece], expr: int | None = None) -> Piece:
        """Return pieces one after the other."""
        if len(parts) == 1:
            return parts[0]
        if expr is None:
            expr = self.store.concat([part.expr for part in parts])
        highs = [part.high for part in parts]
        high = None if None in highs else sum(h for h in highs if h is not None)
        first = _leading((part.low, part.first) for part in parts)
        last = _leading((part.low, part.last) for part in reversed(parts))
        return Piece(expr, sum(part.low for part in parts), high, first, last)

    def _either(self, parts: Sequence[Piece], expr: int | None = None) -> Piece:
        """Return one piece or another."""
        if len(parts) == 1:
            return parts[0]
        if expr is None:
            expr = self.store.union([part.expr for part in parts])
        highs = [part.high for part in parts]
        high = None if None in highs else max(h for h in highs if h is not None)
        first = cc.union(*(part.first for part in parts))
        last = cc.union(*(part.last for part in parts))
        low = min(part.low for part in parts)
        members = first if all(part.members is not None for part in parts) else None
        return Piece(expr, low, high, first, last, members)

    def _repeated(self, part: Piece, low: int, high: int | None) -> Piece:
        expr = self.store.repeat(part.expr, low, high)
        longest = 0 if part.high == 0 else None
        if high is not None and part.high is not None:
            longest = part.high * high
        return Piece(expr, part.low * low, longest, part.first, part.last)

    def narrowed(self, piece: Piece, near: Near, keep_empty: bool) -> Piece:
        """Restrict the character at one end of a piece; *keep_empty*: it may still be empty."""
        store = self.store
        if piece.members is not None:
            members = cc.intersection(piece.members, near.members)
            return Piece(self.translator.set(members), 1, 1, members, members, members)
        member = self.translator.set(near.members)
        around = [member, self.any] if near.ahead else [self.any, member]
        wanted = store.concat(around) if near.members else store.NEVER
        if keep_empty:
            wanted = store.union([store.EPSILON, wanted])
        expr = wanted if piece.expr == self.any else store.intersect([piece.expr, wanted])
        low = piece.low if keep_empty else max(1, piece.low)
        if near.ahead:
            return replace(
                piece, expr=expr, low=low, first=cc.intersection(piece.first, near.members)
            )
        return replace(piece, expr=expr, low=low, last=cc.intersection(piece.last, near.members))

    # -- tree to paths ---------------------------------------------------------------------------

    def expand(self, node: Node) -> list[Path]:
        """Return the paths of a node; none if it never matches."""
        if not node.asserts:
            return [(self.piece(node),)]
        if isinstance(node, Edge):
            return [(Near(node.ahead, node.members, node.boundary),)]
        if isinstance(node, WordEdge):
            return _word_paths(node)
        if isinstance(node, Look):
            return self._look(node)
        if isinstance(node, Repeat):
            return self._repeat(node)
        if isinstance(node, Concat):
            return self._product([self.expand(item) for item in node.items])
        assert isinstance(node, Alternation)
        paths = [path for item in node.items if item.asserts for path in self.expand(item)]
        plain = [self.piece(item) for item in node.items if not item.asserts]
        return paths + ([(self._either(plain),)] if plain else [])

    def _product(self, factors: Sequence[list[Path]]) -> list[Path]:
        """Return every way to take one path of each factor, less those seen to be impossible."""
        paths: list[Path] = [()]
        for options in factors:
            if len(paths) * len(options) > MAX_PATHS:
                raise LimitError("pattern_paths", len(paths) * len(options), MAX_PATHS)
            joined = [_append(path, option) for path in paths for option in options]
            paths = [path for path in joined if path is not None]
        return paths

    def _look(self, node: Look) -> list[Path]:
        """Return the conditions that a look-around makes, as alternatives."""
        near = self._one_character(node.item, node.ahead)
        if near is not None:
            return [(near.negated() if node.negated else near,)]
        if not node.item.asserts:
            piece = self.piece(node.item)
            if piece.low == 0:
                return [] if node.negated else [()]
            parts = [piece.expr, self.any] if node.ahead else [self.any, piece.expr]
            expr = self.store.concat(parts)
            if node.negated:
                expr = self.store.complement(expr)
            return [(Far(node.ahead, expr, piece.high, node.item, not node.negated),)]
        return self._nested_look(node)

    def _one_character(self, node: Node, ahead: bool) -> Near | None:
        """Return what a look-around asks if it only looks at one character, or at the end."""
        if not node.asserts:
            members = self.piece(node).members
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
            ends = (*path, self.whole) if node.ahead else (self.whole, *path)
            try:
                resolved = self.resolve(ends, left_open=node.ahead, right_open=not node.ahead)
            except Beyond as reason:
                raise GrammarSyntaxError(f"{reason}, inside a look-around") from None
            for one in resolved:
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
        return replace(
            condition,
            expr=self.store.complement(condition.expr),
            positive=not condition.positive,
        )

    def _repeat(self, node: Repeat) -> list[Path]:
        """Return the paths of a repeat: a piece if its body decides itself, else copies or a loop."""
        bodies = self.expand(node.items[0])
        if not bodies:
            return [()] if node.low == 0 else []
        closed = self._closed(bodies)
        if closed is not None:
            return [(self._repeated(closed, node.low, node.high),)]
        if all(_takes_nothing(item) for body in bodies for item in body):
            # An iteration that takes no characters: required once, it holds however often.
            return [()] if node.low == 0 else bodies
        if node.high is not None and len(bodies) ** node.high <= MAX_UNROLLED >= node.high:
            paths: list[Path] = []
            for count in range(node.low, node.high + 1):
                paths += self._product([bodies] * count)
            return paths
        return [(Loop(tuple(bodies), node.low, node.high),)]

    def _closed(self, bodies: Sequence[Path]) -> Piece | None:
        """Return the piece of a loop's body, or None if it looks outside."""
        pieces = []
        for body in bodies:
            try:
                resolved = self.resolve(body, left_open=True, right_open=True)
            except Beyond:
                return None
            if any(one.left or one.right for one in resolved):
                return None
            pieces += [one.piece for one in resolved]
        if not pieces:
            return Piece(self.store.NEVER, 1, 1, cc.EMPTY, cc.EMPTY)
        return self._either(pieces)

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
                    raise LimitError("pattern_paths", len(work) + len(done), MAX_PATHS)
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
                piece = self.narrowed(piece, near, keep_empty)
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
            raise Beyond("a look-around reaches outside its loop")
        return (at, len(pieces)) if far.ahead else (0, at)

    def _intersected(
        self, pieces: Sequence[Piece], spans: Sequence[tuple[int, int, int]]
    ) -> Piece:
        """Apply conditions to intervals, smallest first; they must be nested or disjoint."""
        runs = [(k, k + 1, piece) for k, piece in enumerate(pieces)]
        for start, end, expr in sorted(spans, key=lambda span: span[1] - span[0]):
            if start == end:
                if not self._holds_empty(expr):
                    return Piece(self.store.NEVER, 0, 0, cc.EMPTY, cc.EMPTY)
                continue
            inside = [run for run in runs if start <= run[0] and run[1] <= end]
            if not inside or inside[0][0] != start or inside[-1][1] != end:
                raise Beyond("look-ahead and look-behind cross each other")
            whole = self.joined([run[2] for run in inside])
            piece = replace(whole, expr=self.store.intersect([whole.expr, expr]), members=None)
            place = runs.index(inside[0])
            runs[place : place + len(inside)] = [(start, end, piece)]
        if not runs:
            return Piece(self.store.EPSILON, 0, 0, cc.EMPTY, cc.EMPTY)
        return self.joined([run[2] for run in runs])

    def _holds_empty(self, expr: int) -> bool:
        return self.store.matches(expr, b"")

    def compile(self, root: Node, search: bool) -> int:
        """Return the expression of a whole pattern."""
        options: list[int] = []
        for path in self.expand(root):
            if search:
                path = (self.whole, *path, self.whole)
            try:
                options += [one.piece.expr for one in self.resolve(path, False, False)]
            except Beyond as reason:
                options.append(self._labelled(path, reason))
        return self.store.union(options)

    def _labelled(self, path: Path, reason: Beyond) -> int:
        raise GrammarSyntaxError(str(reason))


def _leading(parts: Iterable[tuple[int, Ranges]]) -> Ranges:
    """Unite the sets of (fewest characters, set), up to the first that cannot be empty."""
    found: list[Ranges] = []
    for low, members in parts:
        found.append(members)
        if low:
            break
    return cc.union(*found) if found else cc.EMPTY


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
            for near in _trailing(items):
                verdict = _decided(near, item)
                if verdict is False:
                    return None
                if verdict:
                    items.remove(near)
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
        if isinstance(item, Loop):
            return None
    return None


def _trailing(items: Sequence[Item]) -> list[Near]:
    """Return the conditions on the next character at the end of *items*."""
    found: list[Near] = []
    for item in reversed(items):
        if isinstance(item, (Piece, Loop)):
            break
        if isinstance(item, Near) and item.ahead:
            found.append(item)
    return found


def _split(path: Path) -> _State:
    """Sort a path into pieces and the conditions between them."""
    state = _State([], [[]])
    for item in path:
        if isinstance(item, Loop):
            raise Beyond("an assertion inside a loop looks outside it")
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
    return _Compiler(nodes, translator).compile(root, search)
