"""Sets of arrays: a prefix of item sets, a set for all further items, lengths, and conditions.

The items are symbolic nodes, so two recursive schemas intersect position by position without
being unfolded. ``high`` never reaches past an item that nothing satisfies, as far as that shows
without looking inside.

*Conditions* count the items from an index on that lie in a node (``contains``; the complement of
"all further items are in *rest*" is "at least one, from ``len(prefix)`` on, is not"), and ask that
no two items are equal, or that some are. With them every set has a complement. A grammar says that
some items are equal only where the items are few enough to say which: :func:`repeated`.
Conditions that come down to sets of single items are turned into those at once, so that most
complements are plain sequences again.

Only :func:`complement`, :func:`disjoint` and :func:`repeated` look into nodes.

Tested by tests/test_arrays.py.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from .cardinality import MAX_VALUES, identity, values_of
from .nodes import ANYTHING, Leaf, Node

if TYPE_CHECKING:
    from .algebra import Algebra
    from .keywords import Found

__all__ = ["KEYS", "ArraySet", "Contains", "from_keywords"]

#: What the reader has found about arrays.
KEYS = ("prefix", "rest", "minItems", "maxItems", "contains", "uniqueItems")

MAX_PAIRS = 8  # items up to which all pairs are compared


class Contains(NamedTuple):
    """*low* to *high* (None: any number) of the items from index *start* on are in *node*."""

    node: Node
    low: int
    high: int | None
    start: int


class ArraySet:
    """Arrays of *low* to *high* items, the i-th in ``prefix[i]`` or else in *rest*.

    Attributes:
        prefix: Nodes of the first items.
        rest: Node of all items after them.
        low: Least number of items.
        high: Greatest number of items, None without bound.
        counts: How many items lie in certain nodes.
        unique: No two items are equal.
        repeats: Some two items are equal, says the complement that is this node; None = no matter.
    """

    __slots__ = ("counts", "high", "low", "prefix", "repeats", "rest", "unique")

    def __init__(
        self,
        prefix: tuple[Node, ...],
        rest: Node,
        low: int,
        high: int | None,
        counts: Iterable[Contains] = (),
        unique: bool = False,
        repeats: Node | None = None,
    ) -> None:
        for index, node in enumerate(prefix):
            if node.never:
                high = _least(high, index)
                break
        if rest.never:
            high = _least(high, len(prefix))
        kept: tuple[Contains, ...] = ()
        if counts:
            low, high, kept = _settled(low, high, counts)
        if repeats is not None:
            low = max(low, 2)
            if unique or (high is not None and high < low):
                low, high, kept = _VOID
        if high is not None and high < len(prefix):
            prefix = prefix[: max(high, 0)]
        self.prefix, self.rest, self.low, self.high = prefix, rest, low, high
        self.counts = kept
        self.unique = unique and (high is None or high > 1)
        self.repeats = repeats

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ArraySet) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[object, ...]:
        conditions = self.counts, self.unique, self.repeats is None
        return self.prefix, self.rest, self.low, self.high, conditions

    def is_void(self) -> bool:
        """Whether no length is left."""
        return self.high is not None and self.low > self.high

    @property
    def counted_low(self) -> int:
        """The least number of items that the counts alone ask for."""
        return max((each.start + each.low for each in self.counts if each.low), default=0)

    def item(self, index: int) -> Node:
        """The node of the item at *index*."""
        return self.prefix[index] if index < len(self.prefix) else self.rest

    def items_from(self, start: int) -> list[Node]:
        """The nodes of all items from *start* on, one for each place that differs."""
        nodes = list(self.prefix[start:])
        if self.high is None or self.high > len(self.prefix):
            nodes.append(self.rest)
        return nodes

    def needed(self) -> list[Node]:
        """The nodes that every array of the set has an item of."""
        nodes = list(self.prefix[: self.low])
        if self.low > len(self.prefix):
            nodes.append(self.rest)
        return nodes + [each.node for each in self.counts if each.low]

    def contains(self, value: list[Any], algebra: Algebra) -> bool:
        """Whether the array is in the set."""
        if len(value) < self.low or (self.high is not None and len(value) > self.high):
            return False
        if not all(algebra.contains(self.item(i), v) for i, v in enumerate(value)):
            return False
        for each in self.counts:
            count = sum(algebra.contains(each.node, item) for item in value[each.start :])
            if count < each.low or (each.high is not None and count > each.high):
                return False
        if not self.unique and self.repeats is None:
            return True
        return self.unique == (len(set(map(identity, value))) == len(value))

    def narrowed(self, start: int, node: Node, algebra: Algebra) -> ArraySet:
        """The arrays whose items from *start* on are in *node*, too."""
        size = max(start, len(self.prefix))
        if self.high is not None:
            size = min(size, self.high)
        prefix = [self.item(i) for i in range(size)]
        prefix[start:] = [algebra.both(item, node) for item in prefix[start:]]
        rest = algebra.both(self.rest, node)
        conditions = self.counts, self.unique, self.repeats
        return ArraySet(tuple(prefix), rest, self.low, self.high, *conditions)

    def counting(self, counts: Iterable[Contains]) -> ArraySet:
        """The arrays with other counts, and with items that may be equal or not."""
        return ArraySet(self.prefix, self.rest, self.low, self.high, counts)


def _least(one: int | None, other: int) -> int:
    return other if one is None else min(one, other)


_VOID: tuple[int, int, tuple[Contains, ...]] = (1, 0, ())


def _settled(
    low: int, high: int | None, counts: Iterable[Contains]
) -> tuple[int, int | None, tuple[Contains, ...]]:
    """Lengths, and the conditions that say more than these; a void range if none can hold."""
    merged: dict[tuple[Node, int], Contains] = {}
    for each in counts:
        known = merged.get((each.node, each.start))
        if known is not None:
            most = each.high if known.high is None else _least(each.high, known.high)
            each = each._replace(low=max(each.low, known.low), high=most)
        merged[each.node, each.start] = each
    for each in merged.values():
        if each.high is not None and each.high < each.low:
            return _VOID
        if each.low:
            low = max(low, each.start + each.low)
            if each.node.never:
                return _VOID
        if each.node.always and each.high is not None:
            high = _least(high, each.start + each.high)
    if high is not None and low > high:
        return _VOID
    kept = []
    for each in merged.values():
        if each.node.never or each.node.always:
            continue
        if high is not None and each.high is not None and each.high >= high - each.start:
            each = each._replace(high=None)
        if each.low or each.high is not None:
            kept.append(each)
    return low, high, tuple(kept)


def _absorbed(array: ArraySet, algebra: Algebra) -> ArraySet:
    """*array* with all conditions turned into sets of items that say no more than that."""
    while True:
        for each in array.counts:
            others = tuple(c for c in array.counts if c is not each)
            conditions = others, array.unique, array.repeats
            bare = ArraySet(array.prefix, array.rest, array.low, array.high, *conditions)
            if each.high == 0:  # none of them
                array = bare.narrowed(each.start, algebra.negation(each.node), algebra)
                break
            if array.high is not None and each.low == array.high - each.start:  # all of them
                array = bare.narrowed(each.start, each.node, algebra)
                break
        else:
            return array


def from_keywords(leaf: Leaf, found: Found, algebra: Algebra) -> tuple[ArraySet, ...]:
    """The arrays that a schema's own keywords ask for; none, and a note, if they conflict."""
    prefix, rest = found.get("prefix", ()), found.get("rest", ANYTHING)
    low, high = found.get("minItems", 0), found.get("maxItems")
    plain = ArraySet(prefix, rest, low, high, (), bool(found.get("uniqueItems")))
    if plain.is_void():
        algebra.conflict((leaf.path, "minItems"), f"at least {low} items")
        which = "maxItems" if high is not None and high < low else "items"
        algebra.conflict((leaf.path, which), f"at most {plain.high} items")
        return ()
    if "contains" not in found:
        return (plain,)
    least, most = found.get("minContains", 1), found.get("maxContains")
    counted = Contains(found["contains"], least, most, 0)
    array = ArraySet(prefix, rest, low, high, (counted,), plain.unique)
    if array.is_void():
        algebra.conflict((leaf.path, "contains"), f"at least {least} items of this kind")
        if most is not None and most < least:
            algebra.conflict((leaf.path, "maxContains"), f"at most {most} items of this kind")
        elif plain.high is not None and plain.high < least:
            which = "maxItems" if high == plain.high else "items"
            algebra.conflict((leaf.path, which), f"at most {plain.high} items")
        return ()
    array = _absorbed(array, algebra)
    return () if array.is_void() else (array,)


def intersect(a: ArraySet, b: ArraySet, algebra: Algebra) -> ArraySet | None:
    """The arrays of both, or None."""
    length = max(len(a.prefix), len(b.prefix))
    prefix = tuple(algebra.both(a.item(i), b.item(i)) for i in range(length))
    high = a.high if b.high is None else _least(a.high, b.high)
    rest = algebra.both(a.rest, b.rest)
    low, unique = max(a.low, b.low), a.unique or b.unique
    both = ArraySet(prefix, rest, low, high, a.counts + b.counts, unique, a.repeats or b.repeats)
    if both.counts:
        both = _absorbed(both, algebra)
    return None if both.is_void() else both


def disjoint(a: ArraySet, b: ArraySet, algebra: Algebra, depth: int) -> bool:
    """Whether no array is in both, as far as a short look shows."""
    low = max(a.low, b.low)
    if (a.high is not None and low > a.high) or (b.high is not None and low > b.high):
        return True
    reach = min(low, max(len(a.prefix), len(b.prefix)) + 1)
    if any(algebra.disjoint(a.item(i), b.item(i), depth) for i in range(reach)):
        return True
    if (a.unique and b.repeats is not None) or (b.unique and a.repeats is not None):
        return True
    if not (a.counts or b.counts):
        return False
    both = intersect(a, b, algebra)
    return both is None or any(
        all(algebra.disjoint(each.node, item, depth) for item in both.items_from(each.start))
        for each in both.counts
        if each.low
    )


def complement(array: ArraySet, algebra: Algebra, source: Node) -> list[ArraySet]:
    """All arrays that are not in the set, as a union: one set for each condition.

    *source* is the node whose complement is asked for.
    """
    found = []
    if array.low > array.counted_low:
        found.append(ArraySet((), ANYTHING, 0, array.low - 1))
    if array.high is not None:
        found.append(ArraySet((), ANYTHING, array.high + 1, None))
    size = len(array.prefix)
    places = list(array.prefix)
    if array.high == size + 1:
        places.append(array.rest)
    for index, node in enumerate(places):
        wrong = algebra.negation(node)
        if not wrong.never:
            before = (ANYTHING,) * index
            found.append(ArraySet((*before, wrong), ANYTHING, index + 1, array.high))
    wrong = algebra.negation(array.rest)
    if not wrong.never and (array.high is None or array.high > size + 1):
        found.append(ArraySet((), ANYTHING, 0, array.high, [Contains(wrong, 1, None, size)]))
    for each in array.counts:
        if each.low:
            less = Contains(each.node, 0, each.low - 1, each.start)
            found.append(_absorbed(ArraySet((), ANYTHING, 0, array.high, [less]), algebra))
        if each.high is not None:
            more = Contains(each.node, each.high + 1, None, each.start)
            found.append(ArraySet((), ANYTHING, 0, array.high, [more]))
    if array.unique and not never_equal(array, algebra):
        items = array.prefix, array.rest, array.low, array.high, array.counts
        found.append(ArraySet(*items, repeats=source))
    if array.repeats is not None:
        found.append(ArraySet((), ANYTHING, 0, array.high, unique=True))
    return [each for each in found if not each.is_void()]


def repeated(array: ArraySet, algebra: Algebra) -> list[ArraySet] | None:
    """The arrays in which some two items are equal, as a union without that condition.

    None where the items have too many values to say which of them.
    """
    if never_equal(array, algebra):
        return []
    values: dict[object, Any] = {}
    for node in array.items_from(0):
        listed = values_of(node, algebra)
        if listed is None:
            return None
        values.update((identity(value), value) for value in listed)
    if len(values) > MAX_VALUES:
        return None
    twice = [Contains(algebra.constant(value, None), 2, None, 0) for value in values.values()]
    found = [array.counting((*array.counts, each)) for each in twice]
    return [each for each in found if not each.is_void()]


def never_equal(array: ArraySet, algebra: Algebra) -> bool:
    """Whether no two items can be equal, as far as a short look shows."""
    high = array.high
    if high is None or high > MAX_PAIRS:
        return False
    nodes = [array.item(index) for index in range(high)]
    return all(algebra.disjoint(nodes[i], nodes[j]) for j in range(high) for i in range(j))
