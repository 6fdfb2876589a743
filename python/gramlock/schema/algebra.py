"""The schema algebra: nodes that denote sets of JSON values, and their normal form by type.

A *node* is a set of values, symbolic until it is looked into: everything, nothing, a constant, a
schema (:class:`Leaf`), a conjunction of nodes. Looking into one (:meth:`Algebra.expand`) gives its
:class:`Shape`: for each JSON type the alternatives that are left of it. A shape's own children are
nodes again, so recursive schemas are never unfolded, and the conjunction of two recursive schemas
is a product construction: conjunctions are interned by their members, of which there are finitely
many. Union joins the alternatives of each type; intersection pairs them off, under a budget; those
of objects mostly become clauses (:mod:`.objects`).

Only in-place applicators (``allOf``, ``anyOf``, ``$ref`` ...) are expanded together; a schema that
meets itself on that road says nothing about any value, and is refused by pointer.

Complements are exact: De Morgan over the parts of a schema, then type by type. Where the normal
form has no word for one (see :class:`.nodes.InexpressibleError`) the place is noted.

Who calls what: the reader (model.py) makes leaves; the emitter expands each reached node once.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import InvalidSchemaError, LimitError, Place
from . import arrays, complement, objects
from .arrays import ArraySet
from .formats import FORMATS
from .load import Path, place_of
from .nodes import (
    ANYTHING,
    Conjunction,
    Derived,
    InexpressibleError,
    Leaf,
    Negation,
    Never,
    Node,
    Shape,
    Union,
)
from .numbers import NumberSet
from .objects import OBJECTS, OPEN, ObjectSet, Region
from .strings import StringSet

if TYPE_CHECKING:
    from .._core import Expressions

__all__ = [
    "ALL_FLAGS",
    "ANYTHING",
    "FALSE",
    "NULL",
    "OBJECTS",
    "OPEN",
    "TRUE",
    "Algebra",
    "Derived",
    "Leaf",
    "Node",
    "Shape",
    "kind_of",
]

NULL, TRUE, FALSE = 1, 2, 4
ALL_FLAGS = NULL | TRUE | FALSE

MAX_ALTERNATIVES = 2048
MAX_PAIRS = 16_384
MAX_IN_PLACE = 150
MAX_LOOK = 8
MAX_CONFLICTS = 64
MANY = 4  # members of a conjunction beyond which the objects of all are joined at once

_LITERAL = re.compile(r"\^?(?:\.\*)?([A-Za-z0-9_-]+)(?![*+?{|])")

Part = TypeVar("Part")


NUMBERS = NumberSet()
INTEGERS = NumberSet(integer_only=True)
STRINGS = StringSet()
ARRAYS = ArraySet((), ANYTHING, 0, None)
FULL = Shape(ALL_FLAGS, (NUMBERS,), (STRINGS,), (ARRAYS,), (OBJECTS,))
VOID = Shape(0, (), (), (), ())
ANYTHING.shape = FULL


def kind_of(value: Any) -> str:
    """The JSON type of a decoded value.

    Raises:
        InvalidSchemaError: It has none.
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, (int, float, Decimal, Fraction)):
        return "number"
    if isinstance(value, str):
        return "string"
    if isinstance(value, (list, tuple)):
        return "array"
    if isinstance(value, dict):
        return "object"
    raise InvalidSchemaError(f"{value!r} is not a JSON value")


class Algebra:
    """The nodes of one conversion and the operations on them.

    Attributes:
        invalid: Places of schemas that include themselves without progress.
        unsupported: Places of schemas whose complement is no normal form.
        loose: Whether a set may be larger than its schema: its complement is everything then.
        left_out: Paths of the schemas whose complement was given up for that.
    """

    def __init__(self, expressions: Expressions, max_nodes: int) -> None:
        self.expressions = expressions
        self.never = Never(None)
        self.never.shape = VOID
        self.invalid: list[Place] = []
        self._conflicts: dict[tuple[int, str], tuple[Path, str]] = {}
        self._max_nodes = max_nodes
        self.unsupported: list[Place] = []
        self.loose: Callable[[Node], bool] | None = None
        self.left_out: list[Path] = []
        self._conjunctions: dict[tuple[Node, ...], Node] = {}
        self._negations: dict[Node, Node] = {}
        self._unions: dict[tuple[Node, ...], Node] = {}
        self._depth = 0

    # -- making nodes -------------------------------------------------------------------------

    def never_at(self, path: Path) -> Node:
        """Nothing, because of the schema at *path*."""
        node = Never(path)
        node.shape = VOID
        return node

    def both(self, one: Node, other: Node) -> Node:
        """The values in both nodes."""
        if one is other or other.always or one.never:
            return one
        if one.always or other.never:
            return other
        return self._conjunctions.get((one, other)) or self.conjunction((one, other))

    def conjunction(self, nodes: Iterable[Node]) -> Node:
        """The values in all of *nodes*; the first ones declare the order of names."""
        members: dict[Node, None] = {}  # in order, each once
        for node in nodes:
            while node.alias is not None:
                node = node.alias
            if node.never:
                return node
            if isinstance(node, Conjunction):
                members.update(dict.fromkeys(node.members))
            elif not node.always:
                members[node] = None
        if len(members) < 2:
            return next(iter(members), ANYTHING)
        if self._negations and any(self._negations.get(node) in members for node in members):
            return self.never
        key = tuple(members)
        known = self._conjunctions.get(key)
        if known is None:
            if len(self._conjunctions) >= self._max_nodes:
                raise LimitError("schema_nodes", self._max_nodes + 1, self._max_nodes)
            known = self._conjunctions[key] = Conjunction(key)
        return known

    def negation(self, node: Node) -> Node:
        """The values that are not in *node*."""
        while node.alias is not None:
            node = node.alias
        if node.always:
            return self.never
        if node.never:
            return ANYTHING
        if isinstance(node, Negation):
            return node.inner
        known = self._negations.get(node)
        if known is None:
            known = self._negations[node] = Negation(node)
        return known

    def either(self, nodes: Iterable[Node]) -> Node:
        """The values in any of *nodes*; looked into when somebody asks."""
        members = tuple(dict.fromkeys(node for node in nodes if not node.never))
        if any(node.always for node in members):
            return ANYTHING
        if len(members) < 2:
            return members[0] if members else self.never
        known = self._unions.get(members)
        if known is None:
            known = self._unions[members] = Union(members)
        return known

    def negates(self) -> bool:
        """Whether any complement was asked for."""
        return bool(self._negations)

    def forget(self, leaves: Iterable[Leaf]) -> None:
        """Drops every normal form that was worked out, since *leaves* have changed."""
        for leaf in leaves:
            if any(kind != "own" for kind, _ in leaf.parts):
                leaf.shape = leaf.alias = None
        worked_out = (self._conjunctions, self._negations, self._unions)
        for node in (node for table in worked_out for node in table.values()):
            node.shape = None

    def constant(self, value: Any, path: Path) -> Node:
        """Exactly *value*."""
        return Node(path, self.constant_shape(value, path))

    def constant_shape(self, value: Any, path: Path) -> Shape:
        """The shape of exactly *value*."""
        kind = kind_of(value)
        if kind == "null":
            return Shape(NULL, (), (), (), ())
        if kind == "boolean":
            return Shape(TRUE if value else FALSE, (), (), (), ())
        if kind == "number":
            return Shape(0, (NumberSet.point(value),), (), (), ())
        if kind == "string":
            return Shape(0, (), (StringSet(values=(value,)),), (), ())
        if kind == "array":
            items = tuple(self.constant(item, path) for item in value)
            return Shape(0, (), (), (ArraySet(items, self.never, len(items), len(items)),), ())
        node = Node(path)
        members: dict[str, tuple[Node, Node | None]] = {}
        for name, part in value.items():
            members[name] = (self.constant(part, path), node)
        return Shape(0, (), (), (), (ObjectSet(members, ()),))

    # -- set operations on shapes -------------------------------------------------------------

    def intersect(self, a: Shape, b: Shape) -> Shape:
        """The values in both."""
        if a is FULL or a is b:
            return b
        if b is FULL:
            return a
        return Shape(
            a.flags & b.flags,
            _pairs(a.numbers, b.numbers, NUMBERS, _both_numbers),
            _pairs(a.strings, b.strings, STRINGS, lambda x, y: x.intersect(y, self.expressions)),
            _pairs(a.arrays, b.arrays, ARRAYS, lambda x, y: arrays.intersect(x, y, self)),
            objects.meet(a.objects, b.objects, self),
        )

    def union(self, shapes: Sequence[Shape]) -> Shape:
        """The values in any."""
        flags = 0
        for shape in shapes:
            if shape is FULL:
                return FULL
            flags |= shape.flags
        return Shape(
            flags,
            _join((s.numbers for s in shapes), NUMBERS),
            _join_strings(_join((s.strings for s in shapes), STRINGS)),
            _join((s.arrays for s in shapes), ARRAYS),
            _join((s.objects for s in shapes), OBJECTS),
        )

    # -- looking into nodes -------------------------------------------------------------------

    def expand(self, node: Node) -> Shape:
        """The normal form of *node*; computed once."""
        if node.shape is not None:
            return node.shape
        chain = []
        while node.shape is None and isinstance(node, Leaf) and not node.busy:
            target = _only(node)
            if target is None:
                break
            node.busy = True
            chain.append((node, target))
            node = target
        try:
            shape = self._expand_here(node)
        finally:
            for link, _ in chain:
                link.busy = False
        for link, target in reversed(chain):
            link.shape, link.alias = shape, target.alias or target
        return shape

    def _expand_here(self, node: Node) -> Shape:
        if node.shape is not None:
            return node.shape
        if node.busy:
            self._circular(node)
            return VOID
        if self._depth >= MAX_IN_PLACE:
            raise LimitError("schema_in_place", self._depth + 1, MAX_IN_PLACE)
        node.busy = True
        self._depth += 1
        try:
            if isinstance(node, Leaf):
                shape = self._expand_leaf(node)
            elif isinstance(node, Negation):
                shape = self._expand_negation(node)
            elif isinstance(node, Derived):
                shape = node.derive(self)
            else:
                assert isinstance(node, Conjunction)
                shape = self._expand_conjunction(node)
        finally:
            node.busy = False
            self._depth -= 1
        node.shape = shape
        return shape

    def _expand_conjunction(self, node: Conjunction) -> Shape:
        shape = FULL
        keyed: list[ObjectSet] = []
        for index, member in enumerate(node.members):
            part = self.expand(member)
            if len(node.members) > MANY and len(part.objects) == 1:
                keyed += part.objects
                part = Shape(part.flags, part.numbers, part.strings, part.arrays, (OBJECTS,))
            shape = self._narrow(shape, part, node, member, index)
        if keyed and shape.objects:
            joined = objects.join(keyed, self)
            both = () if joined is None else objects.meet((joined,), shape.objects, self)
            shape = Shape(shape.flags, shape.numbers, shape.strings, shape.arrays, both)
        return shape

    def _expand_leaf(self, leaf: Leaf) -> Shape:
        shape = FULL
        for index, (kind, content) in enumerate(leaf.parts):
            if kind == "own":
                part, place = content, leaf
            elif kind == "all":
                part, place = self.expand(content), content
            elif kind == "any":
                part, place = self.union([self.expand(node) for node in content]), content[0]
            elif kind == "either":
                part, place = self._either(content), content[0]
            elif kind == "if":
                part, place = self._chosen(*content), content[0]
            else:
                part, place = self._named(self.expand(content)), content
            shape = self._narrow(shape, part, leaf, place, index)
        return shape

    def _expand_negation(self, node: Negation) -> Shape:
        """De Morgan: so that complements of complements meet, and products stay sums."""
        inner = node.inner
        if self.loose is not None and self.loose(inner):
            self.left_out.append(node.path)
            return FULL
        if isinstance(inner, Union):
            return self.expand(self.conjunction([self.negation(one) for one in inner.members]))
        if isinstance(inner, Conjunction):
            return self.union([self.expand(self.negation(member)) for member in inner.members])
        if isinstance(inner, Leaf) and inner.parts:
            return self.union([self._without(kind, part, node) for kind, part in inner.parts])
        return self._outside(self.expand(inner), node)

    def _without(self, kind: str, content: Any, node: Negation) -> Shape:
        """The values that one part of a schema rules out."""
        if kind == "own":
            return self._outside(content, node)
        if kind == "all":
            return self.expand(self.negation(content))
        if kind in ("any", "either"):
            return self.expand(self.conjunction([self.negation(branch) for branch in content]))
        if kind == "if":
            test, then, other = content
            return self._chosen(test, self.negation(then), self.negation(other))
        return self._outside(self._named(self.expand(content)), node)

    def _either(self, nodes: Sequence[Node]) -> Shape:
        """The union, whose objects are one set with a clause."""
        shape = self.union([self.expand(node) for node in nodes])
        if len(shape.objects) < 2:
            return shape
        joined = (objects.with_clause(OBJECTS, shape.objects),)
        return Shape(shape.flags, shape.numbers, shape.strings, shape.arrays, joined)

    def _chosen(self, test: Node, then: Node, other: Node) -> Shape:
        """*then* for the values in *test*, *other* for all others.

        The objects are those of two implications, which need half of the value conditions.
        """
        unless = self.negation(test)
        cases = [self.conjunction((test, then)), self.conjunction((unless, other))]
        shape = self.union([self.expand(case) for case in cases])
        if len(shape.objects) < 2:
            return shape
        left: ObjectSet | None = OBJECTS
        for implied in ((unless, then), (test, other)):
            if not implied[1].always:
                clause = self.union([self.expand(node) for node in implied]).objects
                left = left and objects.constrain(left, clause, self)
        joined = () if left is None else (left,)
        return Shape(shape.flags, shape.numbers, shape.strings, shape.arrays, joined)

    def _outside(self, shape: Shape, node: Negation) -> Shape:
        """The complement, or everything and a note that there is none."""
        try:
            return complement.of_shape(shape, node, self)
        except InexpressibleError as error:
            pointer, where = place_of(node.path)
            place = Place(f"its complement cannot be enforced: {error}{where}", pointer)
            if place not in self.unsupported:
                self.unsupported.append(place)
            return FULL

    def _narrow(self, shape: Shape, part: Shape, whole: Node, place: Node, index: int) -> Shape:
        """The intersection; notes the place where nothing was left."""
        both = self.intersect(shape, part)
        if index and both.is_void() and not shape.is_void() and not part.is_void():
            self.conflict(whole.path, "no value satisfies all that applies here")
            if place.path is not whole.path:
                self.conflict(place.path, "rules out what is left by the schemas before it")
        return both

    def _named(self, names: Shape) -> Shape:
        """All values whose objects have only these strings as names."""
        if STRINGS in names.strings:
            return FULL
        listed = [v for part in names.strings for v in part.values or ()]
        regions: tuple[Region, ...] = ()
        outside: tuple[StringSet, ...] = ()
        for strings in names.strings:
            if strings.values is None:
                regions += (Region((strings,), outside, ANYTHING),)
                outside += (strings,)
        members: dict[str, tuple[Node, Node | None]] = dict.fromkeys(listed, (ANYTHING, None))
        named = ObjectSet(members, regions)
        return Shape(ALL_FLAGS, (NUMBERS,), (STRINGS,), (ARRAYS,), (named,))

    def _circular(self, node: Node) -> None:
        pointer, where = place_of(node.path)
        message = f"the schema includes itself without taking anything of the value{where}"
        place = Place(message, pointer)
        if place not in self.invalid:
            self.invalid.append(place)

    # -- questions ----------------------------------------------------------------------------

    def contains(self, node: Node, value: Any) -> bool:
        """Whether the decoded JSON *value* is in the set."""
        shape = self.expand(node)
        kind = kind_of(value)
        if kind == "null":
            return bool(shape.flags & NULL)
        if kind == "boolean":
            return bool(shape.flags & (TRUE if value else FALSE))
        if kind == "number":
            return any(part.contains(value) for part in shape.numbers)
        if kind == "string":
            return any(part.contains(value, self.expressions) for part in shape.strings)
        if kind == "array":
            return any(part.contains(value, self) for part in shape.arrays)
        return any(part.contains(value, self) for part in shape.objects)

    def disjoint(self, one: Node, other: Node, depth: int = MAX_LOOK) -> bool:
        """Whether certainly no value is in both; False may also mean "unknown"."""
        if one.never or other.never:
            return True
        if depth == 0 or one.busy or other.busy:
            return False
        a, b = self.expand(one), self.expand(other)
        if a.flags & b.flags:
            return False
        return (
            _apart(a.numbers, b.numbers, lambda x, y: _both_numbers(x, y) is None)
            and _apart(a.strings, b.strings, self._strings_apart)
            and _apart(a.arrays, b.arrays, lambda x, y: arrays.disjoint(x, y, self, depth - 1))
            and _apart(a.objects, b.objects, lambda x, y: objects.disjoint(x, y, self, depth - 1))
        )

    def _strings_apart(self, a: StringSet, b: StringSet) -> bool:
        listed, other = (a, b) if a.values is not None else (b, a)
        if listed.values is not None and other.values is None:
            return not any(other.contains(v, self.expressions, wide=True) for v in listed.values)
        both = a.intersect(b, self.expressions)
        return both is None or self._has_no_string(both)

    def _has_no_string(self, strings: StringSet) -> bool:
        """Whether certainly no string is in the set; a witness is much cheaper than the search."""
        plain = not (strings.patterns or strings.formats) and strings.max_length is None
        if plain and all(part.values is not None for part in strings.without):
            return strings.values == ()  # few are left out
        if strings.patterns and strings.contains(_candidate((strings,)), self.expressions):
            return False
        if not strings.formats:
            return strings.is_empty(self.expressions)
        try:  # what is never written of a format is not known not to be in it
            wide = strings.expression(self.expressions, True, "json-minimal", wide=True)
            return self.expressions.is_empty(wide)
        except LimitError:
            return False

    def is_void(self, node: Node, depth: int = MAX_LOOK) -> bool:
        """Whether certainly no value is in the set; False may also mean "unknown"."""
        if node.never:
            return True
        if depth == 0 or node.busy:
            return False
        return self.is_void_shape(self.expand(node), depth)

    def is_void_shape(self, shape: Shape, depth: int = MAX_LOOK) -> bool:
        """:meth:`is_void` of a normal form."""
        if shape.flags or shape.numbers:
            return False
        if not all(self._has_no_string(part) for part in shape.strings):
            return False
        for array in shape.arrays:
            if not any(self.is_void(need, depth - 1) for need in array.needed()):
                return False
        return all(objects.is_void(item, self, depth - 1) for item in shape.objects)

    def is_plain(self, node: Node) -> bool:
        """Whether *node* has a complement, and both treat all arrays alike, and all objects."""
        shape = self.expand(node)
        if shape.arrays not in ((), (ARRAYS,)) or shape.objects not in ((), (OBJECTS,)):
            return False
        return all(map(_is_exact, shape.strings))

    def has_gap(self, node: Node) -> bool:
        """Whether *node* has strings by a format that is written or checked only in part.

        That nothing is left of such a set then says nothing about the set that the schema means.
        """
        formats = (name for part in self.expand(node).strings for name in part.formats)
        return any(name in FORMATS and FORMATS[name].gap for name in formats)

    def has_name(self, inside: tuple[StringSet, ...], outside: tuple[StringSet, ...]) -> bool:
        """Whether some string is in all of *inside* and none of *outside*."""
        if not inside:
            return True  # a union of all strings by patterns is not worth the search
        e = self.expressions
        key = ("has_name", inside, outside)
        known = e.cache.get(key)
        if known is None:
            text = _candidate(inside)
            known = all(s.contains(text, e) for s in inside)
            if not known or any(s.contains(text, e, wide=True) for s in outside):  # no witness
                parts = [s.expression(e, True) for s in inside]
                parts += [e.complement(s.expression(e, True, wide=True)) for s in outside]
                known = not e.is_empty(e.intersect(parts))
            e.cache[key] = known
        return bool(known)

    def names(
        self, inside: tuple[StringSet, ...], outside: tuple[StringSet, ...], limit: int
    ) -> list[str] | None:
        """All strings in *inside* and none of *outside*; None if they are more than *limit*."""
        e = self.expressions
        key = ("names", inside, outside, limit)
        if key not in e.cache:
            parts = [s.expression(e, True, "json-minimal") for s in (*inside, StringSet())]
            wide = [s.expression(e, True, "json-minimal", wide=True) for s in outside]
            parts += map(e.complement, wide)
            texts = e.members(e.intersect(parts), limit)
            e.cache[key] = None if texts is None else [json.loads(text) for text in texts]
        found: list[str] | None = e.cache[key]
        return found

    def inhabited(self, root: Node) -> bool:
        """Whether some finite value is in the set: the least fixpoint through required children."""
        groups: dict[Node, list[list[Node]]] = {}
        stack = [root]
        while stack:
            node = stack.pop()
            if node in groups:
                continue
            shape = self.expand(node)
            scalar = shape.flags or shape.numbers or node.always
            scalar = scalar or any(not s.is_empty(self.expressions) for s in shape.strings)
            if scalar:
                groups[node] = [[]]
                continue
            groups[node] = _needs(shape)
            stack.extend(need for group in groups[node] for need in group)
        alive: set[Node] = set()
        grown = True
        while grown:
            found = {
                node
                for node, needs in groups.items()
                if node not in alive and any(all(n in alive for n in group) for group in needs)
            }
            grown = bool(found)
            alive |= found
        return root in alive

    # -- remarks ------------------------------------------------------------------------------

    @property
    def conflicts(self) -> list[Place]:
        """Places that rule each other out, in the order in which they were met."""
        found = []
        for path, message in self._conflicts.values():
            pointer, where = place_of(path)
            found.append(Place(message + where, pointer))
        return list(dict.fromkeys(found))

    def conflict(self, path: Path, message: str) -> None:
        """Notes one of the places that rule each other out; cheap, since most never matter."""
        if len(self._conflicts) < MAX_CONFLICTS:
            self._conflicts.setdefault((id(path), message), (path, message))

    def report_forbidden(self, name: str, required: Node, node: Node) -> None:
        """Notes that a required member is ruled out."""
        path = (required.path, "required") if isinstance(required, Leaf) else required.path
        self.conflict(path, f"the member {name!r} is required")
        self.conflict(node.path, f"no value of the member {name!r} is possible")


def _needs(shape: Shape) -> list[list[Node]]:
    """For each alternative the nodes of which it needs a value."""
    found = [array.needed() for array in shape.arrays]
    return found + [item.needed() for item in shape.objects]


def _is_exact(strings: StringSet) -> bool:
    """Whether the language of each format is the document's."""
    if any(FORMATS[name].gap for name in strings.formats if name in FORMATS):
        return False
    return all(map(_is_exact, strings.without))


def _candidate(strings: Iterable[StringSet]) -> str:
    """A text that may well be in all of *strings*: what their patterns start with, joined."""
    found = [_LITERAL.match(pattern) for one in strings for pattern in one.patterns]
    return "".join(one[1] for one in found if one)


def _only(leaf: Leaf) -> Node | None:
    """The one node that *leaf* is equal to, if it is no more than a reference."""
    if len(leaf.parts) == 1 and leaf.parts[0][0] == "all":
        node: Node = leaf.parts[0][1]
        return node
    return None


def _both_numbers(a: NumberSet, b: NumberSet) -> NumberSet | None:
    both = a.intersect(b)
    return None if both.is_empty() else both


def _apart(a: tuple[Part, ...], b: tuple[Part, ...], apart: Callable[[Part, Part], bool]) -> bool:
    return all(apart(x, y) for x in a for y in b)


def _pairs(
    a: tuple[Part, ...],
    b: tuple[Part, ...],
    full: Part,
    both: Callable[[Part, Part], Part | None],
) -> tuple[Part, ...]:
    """Every pair's intersection, without those that are empty."""
    if not a or not b:
        return ()
    if a is b or (len(b) == 1 and b[0] is full):
        return a
    if len(a) == 1 and a[0] is full:
        return b
    if len(a) * len(b) > MAX_PAIRS:
        raise LimitError("schema_alternatives", len(a) * len(b), MAX_PAIRS)
    found = [part for x in a for y in b if (part := both(x, y)) is not None]
    if len(found) > 1:
        found = list(dict.fromkeys(found))
    if len(found) > MAX_ALTERNATIVES and len(found) > max(len(a), len(b)):
        raise LimitError("schema_alternatives", len(found), MAX_ALTERNATIVES)
    return tuple(found)


def _join(groups: Iterable[tuple[Part, ...]], full: Part) -> tuple[Part, ...]:
    """All alternatives once, in order; just *full* if it is among them."""
    joined: dict[Part, None] = {}
    for group in groups:
        for part in group:
            if part is full:
                return (full,)
            joined[part] = None
    return tuple(joined)


def _join_strings(parts: tuple[StringSet, ...]) -> tuple[StringSet, ...]:
    """Finite sets become one."""
    listed = [part for part in parts if part.values is not None]
    if len(listed) < 2:
        return parts
    values = tuple(dict.fromkeys(v for part in listed for v in part.values or ()))
    return (StringSet(values=values), *(part for part in parts if part.values is None))
