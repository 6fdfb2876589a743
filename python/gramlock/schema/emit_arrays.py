"""Sets of arrays as nodes of a grammar.

Arrays whose items are independent of each other are sequences and repetitions. Where items are
counted by what they are, or have to differ, the array is a *container* (see ``gramlock.h``): its
classes are the first positions and all further items, and the choices of a class say which of the
conditions an item is known to satisfy. A demand for at least n items in a node leaves each item the
choice to be one that counts or any; a demand for at most n divides the items into those that are in
the node and those that are not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import LimitError
from .arrays import ArraySet, Contains, never_equal
from .cardinality import identity, is_endless, is_extensible, values_of
from .nodes import Node

if TYPE_CHECKING:
    from .._core import GrammarBuilder
    from .emit import Emitter
    from .layout import Gaps

__all__ = ["array_node"]

MAX_CHOICES = 256  # of one class
MAX_LITERALS = 31
MAX_MATCHED = 64  # positions for which different values are looked for


def array_node(emitter: Emitter, array: ArraySet, depth: int) -> int:
    """The arrays of a set, inside *depth* containers; ``FAIL`` if there are none."""
    if array.counts or (array.unique and not never_equal(array, emitter.algebra)):
        return _Conditional(emitter, array, depth).node()
    return _independent(emitter, array, depth)


def _independent(emitter: Emitter, array: ArraySet, depth: int) -> int:
    """Items that know nothing of each other."""
    builder, inside = emitter.builder, emitter.inside(depth)
    low, high = array.low, array.high
    items: list[int] = []
    for node in array.prefix:
        item = emitter.value(node, inside)
        if item == builder.FAIL:
            high = len(items)
            break
        items.append(item)
    rest = builder.FAIL
    if high is None or high > len(items):
        rest = emitter.value(array.rest, inside)
        if rest == builder.FAIL:
            high = len(items)
    if high is not None and low > high:
        return builder.FAIL
    gaps = emitter.layout(depth)
    listing: _Listing | None = emitter.memo.get(gaps)
    if listing is None:
        listing = emitter.memo[gaps] = _Listing(builder, gaps)
    return listing.node(items[:high], rest, low, high)


class _Listing:
    """Items between brackets, one by one where they differ.

    Where the same gap follows an item before a comma and before the bracket it is a node of its
    own, so that nothing has to be decided before what comes after it::

        [ open ( item gap ( , after_comma item gap )* )? ]
    """

    def __init__(self, builder: GrammarBuilder, gaps: Gaps) -> None:
        e, terminal, sequence = builder.expressions, builder.terminal, builder.sequence
        comma, close = e.literal(b","), e.literal(b"]")
        self.builder = builder
        self.after = builder.EMPTY
        if gaps.before_comma == gaps.close:
            self.after = terminal(gaps.close)
        else:
            comma = e.concat([gaps.before_comma, comma])
            close = e.concat([gaps.close, close])
        self.comma = sequence([terminal(comma), terminal(gaps.after_comma)])
        self.open = sequence([terminal(e.literal(b"[")), terminal(gaps.open)])
        self.close = terminal(close)
        # The empty array has the gap of a free layout, and none in a layout of fixed texts.
        self.empty = -1
        if gaps.open != e.EPSILON and gaps.open != gaps.before_comma:
            self.empty = terminal(e.literal(b"[]"))

    def node(self, items: Sequence[int], rest: int, low: int, high: int | None) -> int:
        """*low* to *high* items, those of *items* first."""
        builder = self.builder
        if self.empty < 0:
            return builder.sequence([self.open, self._items(items, rest, low, high), self.close])
        if high == 0:
            return self.empty
        body = self._items(items, rest, max(low, 1), high)
        some = builder.sequence([self.open, body, self.close])
        return builder.choice([self.empty, some]) if low == 0 else some

    def _items(self, items: Sequence[int], rest: int, low: int, high: int | None) -> int:
        builder = self.builder
        count = len(items)
        tail = builder.EMPTY
        if high is None or high > count:
            more = builder.sequence([self.comma, rest, self.after])
            upper = None if high is None else high - count
            if count:
                tail = builder.repetition(more, max(low - count, 0), upper)
            else:
                upper = None if upper is None else upper - 1
                repeated = builder.repetition(more, max(low - 1, 0), upper)
                return self._optional([rest, self.after, repeated], low == 0)
        for index in range(count - 1, -1, -1):
            if index < low:
                return self._fixed(items[: index + 1], tail)
            tail = self._optional([*self._item(items, index), tail], True)
        return tail

    def _item(self, items: Sequence[int], index: int) -> list[int]:
        comma = [self.comma] if index else []
        return [*comma, items[index], self.after]

    def _fixed(self, items: Sequence[int], tail: int) -> int:
        """All of *items*, then *tail*."""
        nodes = [node for index in range(len(items)) for node in self._item(items, index)]
        return self.builder.sequence([*nodes, tail])

    def _optional(self, nodes: Sequence[int], optional: bool) -> int:
        body = self.builder.sequence(nodes)
        return self.builder.choice([self.builder.EMPTY, body]) if optional else body


class _Choice(NamedTuple):
    """One way to write an item: *node*, which is known to satisfy the conditions in *literals*."""

    node: Node
    literals: int


class _Conditional:
    """One array whose items are counted or have to differ."""

    def __init__(self, emitter: Emitter, array: ArraySet, depth: int) -> None:
        self.emitter, self.array, self.depth = emitter, array, depth
        self.algebra = emitter.algebra
        self.low, self.high = array.low, array.high
        #: The literal "is in the node" of each condition, and "is not in it"; -1 if not asked for.
        self.hits: list[int] = []
        self.misses: list[int] = []
        count = 0
        for each in array.counts:
            self.hits.append(count if each.low else -1)
            count += each.low > 0
            self.misses.append(count if each.high is not None else -1)
            count += each.high is not None
        if count > MAX_LITERALS:
            raise LimitError("schema_literals", count, MAX_LITERALS)

    def node(self) -> int:
        """The node of the grammar; ``FAIL`` if no array satisfies all conditions."""
        builder = self.emitter.builder
        classes, has_rest = self._classes()
        if not has_rest and (self.high is None or self.high > len(classes)):
            self.high = len(classes)
        values = self._values([[choice.node for choice in choices] for choices, _ in classes])
        if self.array.unique and not self._differ(values, has_rest):
            return builder.FAIL
        divided = [choices for choices, _ in classes]
        formula = self._formula(divided, has_rest)
        if formula is None or (self.high is not None and self.low > self.high):
            return builder.FAIL
        members = [
            (builder.expressions.EPSILON, False, [(value, c.literals) for c, value in written])
            for written in (zip(*each, strict=True) for each in classes)
        ]
        named = len(members) - has_rest
        nodes = [choice.node for choices in divided for choice in choices]
        unique = self.array.unique
        return builder.container(
            "array",
            self.emitter.layout(self.depth),
            members[:named],
            members[named:],
            formula=("and", formula) if len(formula) > 1 else formula[0] if formula else None,
            unique=unique,
            endless=unique and all(is_extensible(node, self.algebra) for node in nodes),
            tight=unique and self._is_tight(divided),
        )

    # -- classes and choices ------------------------------------------------------------------

    def _classes(self) -> tuple[list[tuple[list[_Choice], list[int]]], bool]:
        """The choices of each position with their nodes, and whether the last is all the rest."""
        array = self.array
        size = max([len(array.prefix), *(each.start for each in array.counts)])
        if self.high is not None:
            size = min(size, self.high)
        found: list[tuple[list[_Choice], list[int]]] = []
        for index in range(size):
            written = self._written(array.item(index), index)
            if not written[0]:
                self.high = index
                return found, False
            found.append(written)
        if self.high is None or self.high > size:
            written = self._written(array.rest, size)
            if written[0]:
                return [*found, written], True
        return found, False

    def _written(self, item: Node, index: int) -> tuple[list[_Choice], list[int]]:
        """The choices of the item at *index* for which there are values, and their nodes."""
        emitter = self.emitter
        choices: list[_Choice] = []
        nodes: list[int] = []
        inside = emitter.inside(self.depth)
        for choice in self._choices(item, index):
            value = emitter.value(choice.node, inside)
            if value != emitter.builder.FAIL:
                choices.append(choice)
                nodes.append(value)
        return choices, nodes

    def _choices(self, item: Node, index: int) -> list[_Choice]:
        found = [_Choice(item, 0)]
        for each, hit, miss in zip(self.array.counts, self.hits, self.misses, strict=True):
            if each.start <= index:
                found = [part for one in found for part in self._divided(one, each, hit, miss)]
            if len(found) > MAX_CHOICES:
                raise LimitError("schema_alternatives", len(found), MAX_CHOICES)
        return found

    def _divided(self, choice: _Choice, each: Contains, hit: int, miss: int) -> list[_Choice]:
        """The items of *choice* that count for a condition, and the others (or all)."""
        algebra, (node, literals) = self.algebra, choice
        inside = algebra.both(node, each.node)
        hits = literals | (1 << hit if hit >= 0 else 0)
        if inside is node:
            return [_Choice(node, hits)]
        if algebra.is_void(inside):
            return [_Choice(node, literals | (1 << miss if miss >= 0 else 0))]
        if miss < 0:
            return [_Choice(inside, hits), choice]
        outside = algebra.both(node, algebra.negation(each.node))
        if algebra.is_void(outside):
            return [_Choice(node, hits)]
        return [_Choice(inside, hits), _Choice(outside, literals | 1 << miss)]

    # -- the formula --------------------------------------------------------------------------

    def _formula(self, classes: list[list[_Choice]], has_rest: bool) -> list[Any] | None:
        """All conditions; None if one of them cannot hold."""
        found: list[Any] = []
        if self.low > self.array.counted_low:
            found.append(("at_least", self.low, [(None, None)]))
        if self.high is not None and has_rest:
            found.append(("all_but", self.high, [(None, None)]))
        for each, hit, miss in zip(self.array.counts, self.hits, self.misses, strict=True):
            counted = range(min(each.start, len(classes)), len(classes))
            if hit >= 0:
                pairs = [
                    (k, hit) for k in counted if any(c.literals >> hit & 1 for c in classes[k])
                ]
                rest = has_rest and bool(pairs) and pairs[-1][0] == len(classes) - 1
                if not rest and len(pairs) < each.low:
                    return None
                found.append(("at_least", each.low, pairs))
            if miss >= 0 and counted:
                found.append(("all_but", each.high, [(k, miss) for k in counted]))
        return found

    # -- different items ----------------------------------------------------------------------

    def _values(self, classes: list[list[Node]]) -> list[list[Any] | None]:
        """All values of each class, None where they are not few."""
        if not self.array.unique:
            return []
        found: list[list[Any] | None] = []
        for nodes in classes:
            values: dict[object, Any] | None = {}
            for node in nodes:
                listed = values_of(node, self.algebra)
                if listed is None:
                    values = None
                    break
                assert values is not None
                values.update((identity(value), value) for value in listed)
            found.append(None if values is None else list(values.values()))
        return found

    def _differ(self, values: list[list[Any] | None], has_rest: bool) -> bool:
        """Whether the shortest arrays may have different items; shortens the longest ones."""
        known = [[identity(value) for value in each] for each in values if each is not None]
        if len(known) == len(values):
            most = len({value for each in known for value in each})
            self.high = most if self.high is None else min(self.high, most)
        if self.high is not None and self.low > self.high:
            return False
        wanted = values[: self.low]
        more = self.low - len(wanted)
        if has_rest and more > 0 and values[-1] is not None:
            if more >= len(values[-1]):
                return False
            wanted += [values[-1]] * more
        listed = [[identity(value) for value in each] for each in wanted if each is not None]
        return len(listed) > MAX_MATCHED or _have_representatives(listed)

    def _is_tight(self, classes: list[list[_Choice]]) -> bool:
        """Whether items that are needed later may run out of values."""
        needed = 0
        for hit in self.hits:
            needed |= 1 << hit if hit >= 0 else 0
        for index, choices in enumerate(classes):
            is_rest = index + 1 == len(classes) and self.low > len(classes)
            late = 0 < index < self.low or is_rest
            for choice in choices:
                if (late or choice.literals & needed) and not is_endless(choice.node, self.algebra):
                    return True
        return False


def _have_representatives(sets: Sequence[Sequence[object]]) -> bool:
    """Whether one value can be chosen from each of *sets*, all different (Kuhn's matching)."""
    owner: dict[object, int] = {}

    def place(index: int, tried: set[object]) -> bool:
        for value in sets[index]:
            if value not in tried:
                tried.add(value)
                if value not in owner or place(owner[value], tried):
                    owner[value] = index
                    return True
        return False

    return all(place(index, set()) for index in range(len(sets)))
