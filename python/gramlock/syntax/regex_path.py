"""Paths: what a pattern with assertions becomes.                          Tested by test_regex.py.

A path is a sequence of pieces, expressions without assertions, and of conditions between them. A
condition looks at one neighbouring character (near), or at all of the text on one side (far).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from gramlock.syntax import charclass as cc
from gramlock.syntax.charclass import Ranges
from gramlock.syntax.regex_expr import Translator
from gramlock.syntax.regex_tree import Alternation, Concat, Literal, Node, Repeat, Set

__all__ = ["Beyond", "Condition", "Far", "Item", "Near", "Path", "Piece", "Pieces", "Resolved"]


class Beyond(Exception):
    """Paths do not express this pattern."""


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


class Near(NamedTuple):
    """A condition on the next (*ahead*) or the last character.

    Attributes:
        members: It is one of these,
        boundary: or there is none and this is true.
    """

    ahead: bool
    members: Ranges
    boundary: bool

    def negated(self) -> Near:
        """Return the condition that holds where this one does not."""
        return Near(self.ahead, cc.complement(self.members), not self.boundary)


class Far(NamedTuple):
    """A condition on the rest of the text (*ahead*), or on the text so far.

    Attributes:
        expr: The rest, or the text so far, must be in this language.
        width: It is decided by so many characters, if there are as many; None if by no number.
    """

    ahead: bool
    expr: int
    width: int | None


Condition = Near | Far
Item = Piece | Near | Far
Path = tuple[Item, ...]


class Resolved(NamedTuple):
    """A path without conditions but those on what lies outside."""

    left: tuple[Condition, ...]
    piece: Piece
    right: tuple[Condition, ...]


def _leading(parts: Iterable[tuple[int, Ranges]]) -> Ranges:
    """Unite the sets of (fewest characters, set), up to the first that cannot be empty."""
    found: list[Ranges] = []
    for low, members in parts:
        found.append(members)
        if low:
            break
    return cc.union(*found) if found else cc.EMPTY


class Pieces:
    """Makes and combines pieces.

    Attributes:
        any: Every sequence of characters.
        whole: The same as a piece.
        shapes: Piece of each assertion-free node by index.
    """

    def __init__(self, nodes: Sequence[Node], translator: Translator) -> None:
        self.store = translator.store
        self.translator = translator
        self.any = translator.any
        self.whole = Piece(self.any, 0, None, cc.ALL, cc.ALL)
        self.shapes: list[Piece | None] = []
        for node in nodes:
            self.shapes.append(None if node.asserts else self._shape(node))

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
            return self.repeated(self.of(node.items[0]), node.low, node.high)
        assert isinstance(node, (Concat, Alternation))
        parts = [self.of(item) for item in node.items]
        return self.joined(parts, expr) if isinstance(node, Concat) else self.either(parts, expr)

    def of(self, node: Node) -> Piece:
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

    def either(self, parts: Sequence[Piece], expr: int | None = None) -> Piece:
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

    def repeated(self, part: Piece, low: int, high: int | None) -> Piece:
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

    def cut(self, piece: Piece, near: Near) -> Piece:
        """Return the part of a piece that begins (or ends) with one of some characters."""
        seen = piece.first if near.ahead else piece.last
        allowed = cc.intersection(seen, near.members)
        if not allowed:
            return Piece(self.store.NEVER, 1, 1, cc.EMPTY, cc.EMPTY)
        if allowed == seen and piece.low > 0:
            return piece
        return self.narrowed(piece, near, keep_empty=False)

    def nonempty(self, piece: Piece) -> Piece:
        """Return the part of a piece that takes at least one character."""
        return self.cut(piece, Near(True, cc.ALL, boundary=False))
