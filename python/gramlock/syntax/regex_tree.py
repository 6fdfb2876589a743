"""The syntax tree of a regular expression.                                Tested by test_regex.py.

Groups leave no node and lazy quantifiers no mark: neither changes which strings match. The parser
creates children before parents and numbers nodes as it goes, so that a pass over the whole tree is
a loop over its list of nodes, however deep the pattern nests.
"""

from __future__ import annotations

from collections.abc import Sequence

from gramlock.syntax.charclass import Ranges

__all__ = ["Alternation", "Concat", "Edge", "Literal", "Look", "Node", "Repeat", "Set", "WordEdge"]


class Node:
    """Base of all nodes.

    Attributes:
        index: Place in the parser's list of nodes.
        asserts: Whether an assertion occurs in it, so that what it matches depends on context.
        depth: Nesting of nodes that assert; 0 for one that does not.
    """

    __slots__ = ("index",)
    index: int
    asserts: bool = False
    depth: int = 0


class Literal(Node):
    """A string that matches itself; empty for the empty pattern."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


class Set(Node):
    """One code point out of a set."""

    __slots__ = ("members",)

    def __init__(self, members: Ranges) -> None:
        self.members = members


class _Branch(Node):
    """A node with children."""

    __slots__ = ("asserts", "depth", "items")

    def __init__(self, items: Sequence[Node]) -> None:
        self.items = items
        self.depth = 0
        for item in items:
            if item.asserts and item.depth >= self.depth:
                self.depth = item.depth + 1
        self.asserts = self.depth > 0


class Concat(_Branch):
    """Its items one after the other."""

    __slots__ = ()


class Alternation(_Branch):
    """One of its items."""

    __slots__ = ()


class Repeat(_Branch):
    """Its only item, *low* to *high* times; *high* None for no bound."""

    __slots__ = ("high", "low")

    def __init__(self, item: Node, low: int, high: int | None) -> None:
        super().__init__((item,))
        self.low = low
        self.high = high


class Look(Node):
    """Look-ahead or look-behind: *item* matches (or not) from here on, or up to here."""

    __slots__ = ("ahead", "depth", "item", "negated")
    asserts = True

    def __init__(self, item: Node, ahead: bool, negated: bool) -> None:
        self.item = item
        self.ahead = ahead
        self.negated = negated
        self.depth = item.depth + 1


class Edge(Node):
    """A condition on the one code point after (*ahead*) or before this place.

    It holds if there is one and *members* has it, or if there is none and *boundary* is true. So
    ``$`` is an edge ahead with no members and *boundary* true.
    """

    __slots__ = ("ahead", "boundary", "members")
    asserts = True
    depth = 1

    def __init__(self, ahead: bool, members: Ranges, boundary: bool) -> None:
        self.ahead = ahead
        self.members = members
        self.boundary = boundary


class WordEdge(Node):
    """``\\b``, or ``\\B`` if *negated*: exactly one neighbour is in *word* (or not)."""

    __slots__ = ("negated", "word")
    asserts = True
    depth = 1

    def __init__(self, word: Ranges, negated: bool) -> None:
        self.word = word
        self.negated = negated
