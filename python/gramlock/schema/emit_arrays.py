"""Sets of arrays as nodes of a grammar.

Arrays whose items are independent of each other are sequences and repetitions. Where items are
counted by what they are, or have to differ, the array is a *container* (see ``gramlock.h``): its
classes are the first positions and all further items, and the choices of a class say which of the
conditions an item is known to satisfy. A demand for at least n items in a node leaves each item the
choice to be one that counts or any; a demand for at most n divides the items into those that are in
the node and those that are not. Where different items may run out and there are only a few values,
each value is a choice, and the formula says that it is taken once at most.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import LimitError, Place
from .arrays import ArraySet, Contains, never_equal, repeated
from .cardinality import has_at_least, identity, is_endless, is_extensible, values_of
from .load import place_of
from .nodes import Node
from .numbers import is_number

if TYPE_CHECKING:
    from .algebra import Algebra
    from .emit import Emitter
    from .layout import Gaps

__all__ = ["array_node"]

MAX_CHOICES = 256  # of one class
MAX_LITERALS = 31
MAX_MATCHED = 64  # positions for which different values are looked for


def array_node(emitter: Emitter, array: ArraySet, depth: int) -> int:
    """The arrays of a set, inside *depth* containers; ``FAIL`` if there are none.

    Items of which some have to be equal are refused, with a note, where they have many values.
    """
    if array.repeats is not None:
        parts = repeated(array, emitter.algebra)
        if parts is None:
            _refuse(emitter.algebra, array.repeats)
            parts = [array.counting(array.counts)]
        nodes = [array_node(emitter, part, depth) for part in parts]
        return emitter.builder.choice([n for n in nodes if n != emitter.builder.FAIL])
    if array.counts or (array.unique and not never_equal(array, emitter.algebra)):
        return _Conditional(emitter, array, depth).node()
    return _independent(emitter, array, depth)


def _refuse(algebra: Algebra, source: Node) -> None:
    pointer, where = place_of(source.path)
    message = f"its complement cannot be enforced: arrays with two equal items{where}"
    place = Place(message, pointer)
    if place not in algebra.unsupported:
        algebra.unsupported.append(place)


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
        listing = emitter.memo[gaps] = _Listing(emitter, gaps)
    return listing.node(items[:high], rest, low, high)


class _Listing:
    """Items between brackets, one by one where they differ.

    Where the same gap follows an item before a comma and before the bracket it is a node of its
    own, so that nothing has to be decided before what comes after it::

        [ open ( item gap ( , after_comma item gap )* )? ]
    """

    def __init__(self, emitter: Emitter, gaps: Gaps) -> None:
        builder = emitter.builder
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
        fixed = emitter.bare and gaps.open != e.EPSILON
        self.empty = terminal(e.literal(b"[]")) if fixed else -1

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
    value: int = -1  # its node of the grammar, once it is written


_Class = list[_Choice]
_Values = list[Any] | None  # of a class; None where they are not few


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
        self.literals = count

    def node(self) -> int:
        """The node of the grammar; ``FAIL`` if no array satisfies all conditions."""
        builder, unique = self.emitter.builder, self.array.unique
        classes, has_rest = self._classes()
        if not has_rest and (self.high is None or self.high > len(classes)):
            self.high = len(classes)
        values = self._values(classes) if unique else []
        if unique and not self._differ(values, has_rest):
            return builder.FAIL
        tight = unique and self._is_tight(classes, has_rest)
        once: list[Any] = []
        if tight or self._have_spellings(values):
            one_by_one = self._one_by_one(classes, has_rest)
            if one_by_one is not None:
                classes, once = one_by_one
                unique = any(values_of(c.node, self.algebra) is None for k in classes for c in k)
                tight = False
        formula = self._formula(classes, has_rest)
        if formula is None or (self.high is not None and self.low > self.high):
            return builder.FAIL
        formula += once
        members = [
            (builder.expressions.EPSILON, False, [(c.value, c.literals) for c in choices])
            for choices in classes
        ]
        named = len(members) - has_rest
        nodes = [choice.node for choices in classes for choice in choices]
        return builder.container(
            "array",
            self.emitter.layout(self.depth),
            members[:named],
            members[named:],
            formula=("and", formula) if len(formula) > 1 else formula[0] if formula else None,
            unique=unique,
            endless=unique and all(is_extensible(node, self.algebra) for node in nodes),
            tight=tight,
            bare=self.emitter.bare,
        )

    # -- classes and choices ------------------------------------------------------------------

    def _classes(self) -> tuple[list[_Class], bool]:
        """The choices of each position, and whether the last is all the rest."""
        array = self.array
        size = max([len(array.prefix), *(each.start for each in array.counts)])
        if self.high is not None:
            size = min(size, self.high)
        found: list[_Class] = []
        for index in range(size):
            choices = self._written(self._choices(array.item(index), index))
            if not choices:
                self.high = index
                return found, False
            found.append(choices)
        if self.high is None or self.high > size:
            choices = self._written(self._choices(array.rest, size))
            if choices:
                return [*found, choices], True
        return found, False

    def _written(self, choices: _Class) -> _Class:
        """Those of *choices* that have values, with their nodes of the grammar."""
        emitter, inside = self.emitter, self.emitter.inside(self.depth)
        found = [choice._replace(value=emitter.value(choice.node, inside)) for choice in choices]
        return [choice for choice in found if choice.value != emitter.builder.FAIL]

    def _choices(self, item: Node, index: int) -> _Class:
        found = [_Choice(item, 0)]
        for each, hit, miss in self._conditions(index):
            found = [part for one in found for part in self._divided(one, each, hit, miss)]
            if len(found) > MAX_CHOICES:
                raise LimitError("schema_alternatives", len(found), MAX_CHOICES)
        return found

    def _conditions(self, index: int) -> Iterator[tuple[Contains, int, int]]:
        """The conditions on an item at *index* with their literals."""
        for each, hit, miss in zip(self.array.counts, self.hits, self.misses, strict=True):
            if each.start <= index:
                yield each, hit, miss

    def _divided(self, choice: _Choice, each: Contains, hit: int, miss: int) -> _Class:
        """The items of *choice* that count for a condition, and the others (or all)."""
        algebra, node = self.algebra, choice.node
        inside = algebra.both(node, each.node)
        hits = choice.literals | (1 << hit if hit >= 0 else 0)
        misses = choice.literals | (1 << miss if miss >= 0 else 0)
        if inside is node:
            return [_Choice(node, hits)]
        if algebra.is_void(inside):
            return [_Choice(node, misses)]
        if miss < 0:
            return [_Choice(inside, hits), choice]
        outside = algebra.both(node, algebra.negation(each.node))
        if algebra.is_void(outside):
            return [_Choice(node, hits)]
        return [_Choice(inside, hits), _Choice(outside, misses)]

    # -- the formula --------------------------------------------------------------------------

    def _formula(self, classes: list[_Class], has_rest: bool) -> list[Any] | None:
        """All conditions; None if one of them cannot hold."""
        found: list[Any] = []
        if self.low > self.array.counted_low:
            found.append(("at_least", self.low, [(None, None)]))
        if self.high is not None and has_rest:
            found.append(("all_but", self.high, [(None, None)]))
        for each, hit, miss in zip(self.array.counts, self.hits, self.misses, strict=True):
            counted = range(min(each.start, len(classes)), len(classes))
            if hit >= 0:
                usable = [k for k in counted if any(c.literals >> hit & 1 for c in classes[k])]
                most = self._places(usable, len(classes), has_rest, self.high)
                if most is not None and most < each.low:
                    return None
                found.append(("at_least", each.low, [(k, hit) for k in usable]))
            if miss >= 0 and counted:
                forced = [k for k in counted if not any(c.literals >> miss & 1 for c in classes[k])]
                least = self._places(forced, len(classes), has_rest, self.low)
                if least is not None and each.high is not None and least > each.high:
                    return None
                found.append(("all_but", each.high, [(k, miss) for k in counted]))
        return found

    @staticmethod
    def _places(classes: list[int], count: int, has_rest: bool, length: int | None) -> int | None:
        """How many of *length* items are of some of the *count* classes; None without bound."""
        positions = count - has_rest
        places = sum(k < positions and (length is None or k < length) for k in classes)
        if not (has_rest and count - 1 in classes):
            return places
        return None if length is None else places + max(length - positions, 0)

    # -- different items ----------------------------------------------------------------------

    def _values(self, classes: list[_Class]) -> list[_Values]:
        """All values of each class."""
        found: list[_Values] = []
        for choices in classes:
            lists = [values_of(choice.node, self.algebra) for choice in choices]
            listed = [values for values in lists if values is not None]
            values = {identity(value): value for each in listed for value in each}
            found.append(list(values.values()) if len(listed) == len(lists) else None)
        return found

    def _differ(self, values: list[_Values], has_rest: bool) -> bool:
        """Whether the shortest arrays may have different items; shortens the longest ones."""
        for each in self.array.counts:
            counted = values_of(each.node, self.algebra)
            if counted is not None and len(counted) < each.low:
                message = f"there are no {each.low} different items of this kind"
                self.algebra.conflict(each.node.path, message)
                return False
        known = _identities(values)
        if known is not None:
            self.high = _least(self.high, len(known))
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

    def _is_tight(self, classes: list[_Class], has_rest: bool) -> bool:
        """Whether items that are needed later may run out of values.

        An item in its place has at most as many before it as its index says. Of what is counted,
        each value that is used up has counted, too, so enough are left as long as more items may
        follow.
        """
        counts = self.array.counts
        if not counts or (has_rest and self.array.high is None and self._are_free()):
            for index, choices in enumerate(classes):
                last = self._last_needed(index, classes, has_rest)
                if last and not all(self._has(choice.node, last + 1) for choice in choices):
                    return True
            return not all(
                hit < 0 or self._has_hits(classes[-1], hit, each.low + each.start)
                for each, hit in zip(counts, self.hits, strict=True)
            )
        nodes = [choice.node for choices in classes for choice in choices]
        return not all(is_endless(node, self.algebra) for node in nodes)

    def _are_free(self) -> bool:
        """Whether no count stands in the way of another."""
        return len(self.hits) == 1 or all(miss < 0 for miss in self.misses)

    def _has_hits(self, choices: _Class, hit: int, count: int) -> bool:
        hits = (choice.node for choice in choices if choice.literals >> hit & 1)
        return any(self._has(node, count) for node in hits)

    def _have_spellings(self, values: list[_Values]) -> bool:
        """Whether all values are few and some of them may be written in endlessly many ways."""
        if self.emitter.spelling != "any" or not values:
            return False
        if any(each is None for each in values):
            return False
        return any(is_number(value) for each in values for value in each or ())

    def _last_needed(self, index: int, classes: list[_Class], has_rest: bool) -> int:
        """The last place where an item of a class is needed: so many may come before it."""
        if has_rest and index + 1 == len(classes):
            return self.low - 1 if self.low > index else 0
        return index if index < self.low else 0

    def _has(self, node: Node, count: int) -> bool:
        return has_at_least(node, count, self.algebra)

    def _one_by_one(
        self, classes: list[_Class], has_rest: bool
    ) -> tuple[list[_Class], list[Any]] | None:
        """Classes with a choice for each value of small sets, and formulas: each is taken once.

        So whether the array can be finished is a question about the formula, which sees to it
        that no such value is wasted; of the other values there are always enough. None where the
        values are too many, or not known.
        """
        algebra = self.algebra
        few: dict[object, Any] = {}
        many: set[Node] = set()
        for choice in (choice for choices in classes for choice in choices):
            listed = values_of(choice.node, algebra)
            if listed is not None:
                few.update((identity(value), value) for value in listed)
            elif is_endless(choice.node, algebra):
                many.add(choice.node)
            else:
                return None
        if len(few) + self.literals > MAX_LITERALS:
            return None
        constants = [algebra.constant_shape(value, None) for value in few.values()]
        others = algebra.negation(Node(None, algebra.union(constants)))
        every = (1 << len(few)) - 1 << self.literals
        found: list[_Class] = []
        holders: list[list[int]] = [[] for _ in few]
        for index, choices in enumerate(classes):
            written = [
                _Choice(algebra.both(choice.node, others), choice.literals | every)
                for choice in choices
                if choice.node in many
            ]
            for place, value in enumerate(few.values()):
                if any(algebra.contains(choice.node, value) for choice in choices):
                    literals = every & ~(1 << self.literals + place)
                    literals |= self._known_literals(value, index)
                    written.append(_Choice(algebra.constant(value, None), literals))
                    holders[place].append(index)
            found.append(self._written(written))
        once = [
            ("all_but", 1, [(k, self.literals + place) for k in holding])
            for place, holding in enumerate(holders)
            if len(holding) > 1 or (has_rest and holding == [len(classes) - 1])
        ]
        return found, once

    def _known_literals(self, value: Any, index: int) -> int:
        """What holds of one value at *index*."""
        found = 0
        for each, hit, miss in self._conditions(index):
            literal = hit if self.algebra.contains(each.node, value) else miss
            found |= 1 << literal if literal >= 0 else 0
        return found


def _least(one: int | None, other: int) -> int:
    return other if one is None else min(one, other)


def _identities(values: list[_Values]) -> dict[object, None] | None:
    """All values of all classes, in order, if they are few."""
    found: dict[object, None] = {}
    for each in values:
        if each is None:
            return None
        found.update((identity(value), None) for value in each)
    return found


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
