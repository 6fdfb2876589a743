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

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal

from ..errors import LimitError
from ..syntax.regex_expr import Encoding
from .algebra import FALSE, FULL, NULL, TRUE, Algebra, Node, Shape
from .emit_arrays import array_node
from .emit_objects import object_nodes
from .layout import Gaps, Layout
from .numbers import number_node
from .options import SchemaOptions
from .strings import (
    StringSet,
    free_key_expression,
    scalar_expression,
    string_literal_expression,
)

if TYPE_CHECKING:
    from .._core import GrammarBuilder

__all__ = ["Emitter"]

MAX_NESTING = 40  # nodes under construction at once; deeper ones are built later


class Spot:
    """What of a node's grammar depends on how deep it is nested: see :class:`~.algebra.Node`."""

    __slots__ = ("busy", "emitted", "rule")

    def __init__(self) -> None:
        self.emitted = self.rule = -1
        self.busy = False


class Emitter:
    """One grammar under construction.

    A *depth* is how many containers a value lies in, or 0 throughout where the layout does not
    depend on it: nodes are built once for each depth that they are met at.

    Attributes:
        builder, expressions: Where the grammar grows.
        algebra: What the nodes mean.
        order, spelling, encoding: Of members, of numbers and of characters, as in the options.
        bare: Whether there is no white space in a container without members.
        memo: What the emitters of containers keep for one grammar.
        recursive: Whether some node became a rule.
    """

    def __init__(self, builder: GrammarBuilder, algebra: Algebra, options: SchemaOptions) -> None:
        self.builder, self.algebra = builder, algebra
        self.expressions = builder.expressions
        self.spelling: Literal["canonical", "any"] = (
            "any" if options.numbers == "any" else "canonical"
        )
        self.order: Literal["declared", "any"] = "any" if options.order == "any" else "declared"
        self.memo: dict[object, Any] = {}
        self._respell = options.escapes == "any"
        self.encoding: Encoding = "json-minimal" if options.escapes == "minimal" else "json"
        self._layout = Layout(self.expressions, options)
        self.bare = self._layout.fixed
        self._names: dict[str, int] = {}
        self._later: list[Node] = []
        self._nesting = 0
        self._anything: dict[int, int] = {}
        self._spots: dict[tuple[Node, int], Spot] = {}
        self.recursive = False
        self._cut = False

    def root(self, node: Node) -> int:
        """The grammar of a whole text; ``FAIL`` where no value is left.

        Raises:
            LimitError: Every value is nested deeper than the layout goes.
        """
        value = self.value(node, 0)
        while self._later:
            self._build(self._later.pop(), 0)
        if value == self.builder.FAIL:
            deepest = self._layout.deepest
            if self._cut and deepest is not None and self.algebra.inhabited(node):
                raise LimitError("indent_depth", deepest + 1, deepest)
            return value
        edge = self.builder.terminal(self._layout.edge)
        return self.builder.sequence([edge, value, edge])

    # -- what the emitters of containers use ------------------------------------------------------

    def value(self, node: Node, depth: int) -> int:
        """The grammar node of *node* inside *depth* containers, or a rule that will be it."""
        if node.always:
            return self._any_value(depth)
        spot: Node | Spot = node if depth == 0 else self._spot(node, depth)
        if spot.emitted >= 0:
            return spot.emitted
        if spot.rule >= 0:
            return spot.rule
        if spot.busy or (self._nesting >= MAX_NESTING and self._layout.deepest is None):
            spot.rule = self.builder.rule()
            self.recursive = True
            if not spot.busy:
                self._later.append(node)
            return spot.rule
        return self._build(node, depth)

    def inside(self, depth: int) -> int:
        """The depth of the values in a container of *depth*."""
        return 0 if self._layout.deepest is None else depth + 1

    def layout(self, depth: int) -> Gaps:
        """The gaps of a container in *depth* others."""
        return self._layout.gaps(depth)

    def key(self, name: str) -> int:
        """The expression of a declared name, with its quotes."""
        key = self._names.get(name, -1)
        if key < 0:
            key = self._names[name] = self._literal(name)
        return key

    def strings(self, strings: StringSet, wide: bool = False) -> int:
        """The members of a set with their quotes, in every spelling that the options allow.

        A superset (*wide*) is for whoever takes the complement.
        """
        return strings.expression(self.expressions, True, self.encoding, wide)

    def free_key(self, names: Iterable[str]) -> int:
        """Any string with its quotes, in every such spelling, but these names."""
        return free_key_expression(self.expressions, names, self.encoding)

    # -- nodes ------------------------------------------------------------------------------------

    def _spot(self, node: Node, depth: int) -> Spot:
        spot = self._spots.get((node, depth))
        if spot is None:
            spot = self._spots[node, depth] = Spot()
        return spot

    def _any_value(self, depth: int) -> int:
        """Any JSON value: one recursive rule; its node is shared by all conversions."""
        known = self._anything.get(depth, -1)
        if known >= 0:
            return known
        if self._layout.deepest is not None:  # no rule: each depth has values of the next one only
            self._anything[depth] = self._shape(FULL, depth)
        else:
            self._anything[depth] = self.builder.rule()
            self.builder.define(self._anything[depth], self._shape(FULL, depth))
        return self._anything[depth]

    def _build(self, node: Node, depth: int) -> int:
        """Builds *node* now."""
        shape = self.algebra.expand(node)
        target = node.alias
        spot: Node | Spot = node if depth == 0 else self._spot(node, depth)
        spot.busy = True
        self._nesting += 1
        body = self.value(target, depth) if target is not None else self._shape(shape, depth)
        self._nesting -= 1
        spot.busy = False
        if spot.rule >= 0:
            self.builder.define(spot.rule, body)
            body = spot.rule if body != self.builder.FAIL else body
        spot.emitted = body
        return body

    def _shape(self, shape: Shape, depth: int) -> int:
        """The choice between all alternatives of a shape."""
        builder = self.builder
        parts = self._scalars(shape)
        if depth == self._layout.deepest:
            self._cut = self._cut or bool(shape.arrays or shape.objects)
        else:
            parts += [array_node(self, array, depth) for array in shape.arrays]
            parts += object_nodes(self, shape.objects, depth)
        parts = [part for part in parts if part != builder.FAIL]
        if len(parts) == 1:
            return parts[0]
        return builder.choice(parts) if parts else builder.FAIL

    # -- scalars ----------------------------------------------------------------------------------

    def _scalars(self, shape: Shape) -> list[int]:
        """Terminals of everything but arrays and objects; all constants are one of them."""
        builder, e = self.builder, self.expressions
        parts: list[int] = []
        constants: list[int] = []
        if shape.flags:
            constants.append(self._flags(shape.flags))
        for strings in shape.strings:
            if strings.values is not None:
                constants += self._constants(strings)
            elif not strings.is_empty(e):
                parts.append(builder.terminal(strings.expression(e, False, self.encoding)))
        for numbers in shape.numbers:
            if numbers.lower is not None and numbers.lower == numbers.upper:
                constants.append(scalar_expression(e, numbers.lower, self.spelling))
            else:
                parts.append(number_node(builder, numbers, self.spelling))
        if constants:
            parts.append(builder.terminal(e.union(constants)))
        return parts

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
        return [self._literal(value) for value in strings.values or ()]

    def _literal(self, text: str) -> int:
        """A text that the schema lists, with its quotes."""
        return string_literal_expression(self.expressions, text, self._respell)
