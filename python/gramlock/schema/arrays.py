"""Sets of arrays: a prefix of item sets, a set for all further items, and a range of lengths.

The items are symbolic nodes, so two recursive schemas intersect position by position without
being unfolded. ``high`` never reaches past an item that nothing satisfies, as far as that shows
without looking inside.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .algebra import Algebra, Node

__all__ = ["ArraySet"]


class ArraySet:
    """Arrays of *low* to *high* items, the i-th in ``prefix[i]`` or else in *rest*.

    Attributes:
        prefix: Nodes of the first items.
        rest: Node of all items after them.
        low: Least number of items.
        high: Greatest number of items, None without bound.
    """

    __slots__ = ("high", "low", "prefix", "rest")

    def __init__(self, prefix: tuple[Node, ...], rest: Node, low: int, high: int | None) -> None:
        for index, node in enumerate(prefix):
            if node.never:
                prefix = prefix[:index]
                high = index if high is None else min(high, index)
                break
        if rest.never and (high is None or high > len(prefix)):
            high = len(prefix)
        if high is not None and high < len(prefix):
            prefix = prefix[:high]
        self.prefix, self.rest, self.low, self.high = prefix, rest, low, high

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ArraySet) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[object, ...]:
        return self.prefix, self.rest, self.low, self.high

    def is_void(self) -> bool:
        """Whether no length is left."""
        return self.high is not None and self.low > self.high

    def item(self, index: int) -> Node:
        """The node of the item at *index*."""
        return self.prefix[index] if index < len(self.prefix) else self.rest

    def needed(self) -> list[Node]:
        """The nodes that every array of the set has an item of."""
        nodes = list(self.prefix[: self.low])
        if self.low > len(self.prefix):
            nodes.append(self.rest)
        return nodes

    def contains(self, value: list[Any], algebra: Algebra) -> bool:
        """Whether the array is in the set."""
        if len(value) < self.low or (self.high is not None and len(value) > self.high):
            return False
        return all(algebra.contains(self.item(i), v) for i, v in enumerate(value))


def intersect(a: ArraySet, b: ArraySet, algebra: Algebra) -> ArraySet | None:
    """The arrays of both, or None."""
    length = max(len(a.prefix), len(b.prefix))
    prefix = tuple(algebra.both(a.item(i), b.item(i)) for i in range(length))
    high = a.high if b.high is None else b.high if a.high is None else min(a.high, b.high)
    rest = algebra.both(a.rest, b.rest)
    both = ArraySet(prefix, rest, max(a.low, b.low), high)
    return None if both.is_void() else both


def disjoint(a: ArraySet, b: ArraySet, algebra: Algebra, depth: int) -> bool:
    """Whether no array is in both, as far as a short look shows."""
    low = max(a.low, b.low)
    if (a.high is not None and low > a.high) or (b.high is not None and low > b.high):
        return True
    reach = min(low, max(len(a.prefix), len(b.prefix)) + 1)
    return any(algebra.disjoint(a.item(i), b.item(i), depth) for i in range(reach))
