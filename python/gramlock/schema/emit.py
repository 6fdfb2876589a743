"""From the algebra to a grammar.

Every container's set becomes one node of the grammar; a node that is met again while it is being
built becomes a rule, and so does one that is nested too deep for the stack (it is built later,
from a list). ``FAIL`` is what nothing satisfies: an optional member whose value fails is left out,
a required one takes its object along.

White space goes between tokens only, as one terminal of its own: each value leaves the gap behind
it to its container, and the root has one at each end. Scalars are terminals: all constants of a
set are one expression, and so are ``null``, ``true`` and ``false``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from ..errors import GrammarSyntaxError
from ..syntax import regex
from .algebra import FALSE, FULL, NULL, TRUE, Algebra, Node, Shape
from .arrays import ArraySet
from .numbers import NumberSet, number_node
from .objects import ObjectSet, Region
from .options import SchemaOptions
from .strings import (
    StringSet,
    free_key_expression,
    scalar_expression,
    string_literal_expression,
)

if TYPE_CHECKING:
    from .._core import Expressions, GrammarBuilder

__all__ = ["Emitter", "gap_expression"]

BOUNDED = r"[ \t]?|\r?\n[ \t]{0,32}"
FLEXIBLE = r"[ \t\n\r]*"

MAX_NESTING = 40  # nodes under construction at once; deeper ones are built later


def gap_expression(expressions: Expressions, whitespace: str) -> int:
    """The expression of every gap.

    Raises:
        ValueError: The pattern does not parse, or matches more than JSON white space.
    """
    if whitespace == "compact":
        return expressions.EPSILON
    key = ("gap", whitespace)
    known: int | None = expressions.cache.get(key)
    if known is None:
        pattern = {"bounded": BOUNDED, "flexible": FLEXIBLE}.get(whitespace, whitespace)
        try:
            known = regex.parse(pattern).full(expressions, "utf8")
        except GrammarSyntaxError as error:
            raise ValueError(f"whitespace is no regular expression: {error}") from None
        blanks = expressions.repeat(expressions.byte_class(b" \t\n\r"), 0, None)
        if not expressions.is_empty(expressions.intersect([known, expressions.complement(blanks)])):
            raise ValueError(f"the whitespace pattern {whitespace!r} matches more than white space")
        expressions.cache[key] = known
    return known


class Emitter:
    """One grammar under construction."""

    def __init__(self, builder: GrammarBuilder, algebra: Algebra, options: SchemaOptions) -> None:
        self.builder, self.algebra = builder, algebra
        self.expressions = builder.expressions
        self.spelling: Literal["canonical", "any"] = (
            "any" if options.numbers == "any" else "canonical"
        )
        self.order: Literal["declared", "any"] = "any" if options.order == "any" else "declared"
        self.gap = gap_expression(self.expressions, options.whitespace)
        self._gap = builder.terminal(self.gap)
        e = self.expressions
        self._comma = builder.sequence([builder.terminal(e.literal(b",")), self._gap])
        self._open = builder.sequence([builder.terminal(e.literal(b"[")), self._gap])
        self._close = builder.terminal(e.literal(b"]"))
        self._names: dict[str, int] = {}
        self._later: list[Node] = []
        self._nesting = 0
        self._anything = -1
        self.recursive = False

    def root(self, node: Node) -> int:
        """The grammar of a whole text; ``FAIL`` where no value is left."""
        value = self.value(node)
        while self._later:
            self.build(self._later.pop())
        if value == self.builder.FAIL:
            return value
        return self.builder.sequence([self._gap, value, self._gap])

    # -- nodes --------------------------------------------------------------------------------

    def value(self, node: Node) -> int:
        """The grammar node of *node*, or a rule that will be it."""
        if node.emitted >= 0:
            return node.emitted
        if node.always:
            return self._any_value()
        if node.rule >= 0:
            return node.rule
        if node.busy or self._nesting >= MAX_NESTING:
            node.rule = self.builder.rule()
            self.recursive = True
            if not node.busy:
                self._later.append(node)
            return node.rule
        return self.build(node)

    def _any_value(self) -> int:
        """Any JSON value: one recursive rule; its node is shared by all conversions."""
        if self._anything < 0:
            self._anything = self.builder.rule()
            self.builder.define(self._anything, self._shape(FULL))
        return self._anything

    def build(self, node: Node) -> int:
        """Builds *node* now."""
        shape = self.algebra.expand(node)
        target = node.alias
        node.busy = True
        self._nesting += 1
        body = self.value(target) if target is not None else self._shape(shape)
        self._nesting -= 1
        node.busy = False
        if node.rule >= 0:
            self.builder.define(node.rule, body)
            body = node.rule if body != self.builder.FAIL else body
        node.emitted = body
        return body

    def _shape(self, shape: Shape) -> int:
        """The choice between all alternatives of a shape."""
        builder = self.builder
        parts: list[int] = []
        scalars: list[int] = []
        if shape.flags:
            scalars.append(self._flags(shape.flags))
        for strings in shape.strings:
            if strings.values is not None:
                scalars += self._constants(strings)
            elif not strings.is_empty(self.expressions):
                parts.append(builder.terminal(strings.expression(self.expressions)))
        for numbers in shape.numbers:
            if numbers.lower is not None and numbers.lower == numbers.upper:
                scalars.append(scalar_expression(self.expressions, numbers.lower, self.spelling))
            else:
                parts.append(self._numbers(numbers))
        if scalars:
            parts.append(builder.terminal(self.expressions.union(scalars)))
        parts += [self._array(array) for array in shape.arrays]
        parts += [self._object(objects) for objects in shape.objects]
        parts = [part for part in parts if part != builder.FAIL]
        if len(parts) == 1:
            return parts[0]
        return builder.choice(parts) if parts else builder.FAIL

    # -- scalars ------------------------------------------------------------------------------

    def _flags(self, flags: int) -> int:
        e = self.expressions
        key = ("flags", flags)
        known: int | None = e.cache.get(key)
        if known is None:
            names = ((NULL, b"null"), (TRUE, b"true"), (FALSE, b"false"))
            known = e.union([e.literal(text) for flag, text in names if flags & flag])
            e.cache[key] = known
        return known

    def _constants(self, strings: StringSet) -> list[int]:
        e = self.expressions
        return [string_literal_expression(e, value) for value in strings.values or ()]

    def _numbers(self, numbers: NumberSet) -> int:
        return number_node(self.builder, numbers, self.spelling)

    # -- arrays -------------------------------------------------------------------------------

    def _array(self, array: ArraySet) -> int:
        """``[`` gap ( item gap ( ``,`` gap item gap )* )? ``]``, item by item where they differ."""
        builder = self.builder
        low, high = array.low, array.high
        items: list[int] = []
        for node in array.prefix:
            item = self.value(node)
            if item == builder.FAIL:
                high = len(items)
                break
            items.append(item)
        rest = builder.FAIL
        if high is None or high > len(items):
            rest = self.value(array.rest)
            if rest == builder.FAIL:
                high = len(items)
        if high is not None and low > high:
            return builder.FAIL
        body = self._items(items[:high], rest, low, high)
        return builder.sequence([self._open, body, self._close])

    def _items(self, items: Sequence[int], rest: int, low: int, high: int | None) -> int:
        builder = self.builder
        count = len(items)
        tail = builder.EMPTY
        if high is None or high > count:
            more = builder.sequence([self._comma, rest, self._gap])
            upper = None if high is None else high - count
            if count:
                tail = builder.repetition(more, max(low - count, 0), upper)
            else:
                upper = None if upper is None else upper - 1
                repeated = builder.repetition(more, max(low - 1, 0), upper)
                return self._optional([rest, self._gap, repeated], low == 0)
        for index in range(count - 1, -1, -1):
            if index < low:
                return self._fixed(items[: index + 1], tail)
            tail = self._optional([*self._item(items, index), tail], True)
        return tail

    def _item(self, items: Sequence[int], index: int) -> list[int]:
        comma = [self._comma] if index else []
        return [*comma, items[index], self._gap]

    def _fixed(self, items: Sequence[int], tail: int) -> int:
        """All of *items*, then *tail*."""
        nodes = [node for index in range(len(items)) for node in self._item(items, index)]
        return self.builder.sequence([*nodes, tail])

    def _optional(self, nodes: Sequence[int], optional: bool) -> int:
        body = self.builder.sequence(nodes)
        return self.builder.choice([self.builder.EMPTY, body]) if optional else body

    # -- objects ------------------------------------------------------------------------------

    def _object(self, objects: ObjectSet) -> int:
        builder, e = self.builder, self.expressions
        members: list[tuple[int, int, bool]] = []
        for name, (node, required) in objects.members.items():
            value = self.value(node)
            if value != builder.FAIL:
                key = self._names.get(name, -1)
                if key < 0:
                    key = self._names[name] = string_literal_expression(e, name)
                members.append((key, value, required is not None))
            elif required is not None:
                self.algebra.report_forbidden(name, required, node)
                return builder.FAIL
        free: list[tuple[int, int]] = []
        for region in objects.regions:
            value = self.value(region.node)
            if value != builder.FAIL:
                free.append((self._free_key(region, objects), value))
        return builder.object(self.gap, members, free, self.order)

    def _free_key(self, region: Region, objects: ObjectSet) -> int:
        """The keys of a region: none of the declared names, in any spelling."""
        e = self.expressions
        names = objects.members
        if not region.inside and not region.outside:
            return free_key_expression(e, names)
        parts = [s.expression(e, True) for s in region.inside]
        if names or not parts:
            parts.append(free_key_expression(e, names))
        parts += [e.complement(s.expression(e, True)) for s in region.outside]
        return e.intersect(parts)
