"""Reading a schema: from a document to leaves of the algebra.

Schemas are read once, from a work list, so depth costs no stack; each becomes a
:class:`~.algebra.Leaf` whose *own* keywords are a shape and whose applicators are parts beside it.
Everything wrong or not enforceable is collected with its place; nothing is raised here.

Plain nodes are the fast lane: a bare ``type`` shares one shape, and a schema without applicators is
its own normal form.

Cost: a few microseconds for each schema; several thousand schemas for a large document.
"""

from __future__ import annotations

from itertools import combinations
from math import comb
from typing import Any

from ..errors import GrammarSyntaxError, Place
from ..syntax import regex
from . import algebra as sets
from .algebra import Algebra, Leaf, Node, Shape
from .arrays import ArraySet
from .formats import FORMATS
from .keywords import (
    ALL_TYPES,
    ARRAY_TYPE,
    BOOLEAN_TYPE,
    INTEGER_TYPE,
    NULL_TYPE,
    NUMBER_TYPE,
    OBJECT_TYPE,
    STRING_TYPE,
    TYPES,
    Found,
    handlers_of,
)
from .load import Loader, Path, Scope, UnresolvedError, place_of
from .numbers import NumberSet, exact
from .objects import ObjectSet, Region, find, split
from .options import SchemaOptions
from .strings import StringSet

__all__ = ["Reader"]

MAX_CHOICES = 64  # ways to choose members for minProperties and maxProperties

_DECLARING = frozenset("properties required patternProperties enum const".split())
_NUMERIC = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_TEXTUAL = ("minLength", "maxLength", "pattern", "format")
_LISTED = ("prefix", "rest", "minItems", "maxItems")
_KEYED = (
    "properties",
    "required",
    "additionalProperties",
    "patternProperties",
    "minProperties",
    "maxProperties",
)


class Reader:
    """The schemas of one conversion.

    Attributes:
        leaves: Every schema that the root reaches, in the order in which they were met.
        invalid: What is no JSON Schema.
        unsupported: What cannot be enforced; with ``on_unsupported="relax"`` it was left out.
        one_of: Schemas with ``oneOf`` and its branches, read as a union; whoever uses the result
            checks that they exclude each other.
        exact: Whether complements may be taken; of sets that are too large they would be too small.
        later: Parts of the schema being read that come after all others, since they only choose
            between members that are declared elsewhere.
    """

    def __init__(
        self, loader: Loader, options: SchemaOptions, algebra: Algebra, exact: bool = True
    ) -> None:
        self.loader, self.options, self.algebra = loader, options, algebra
        self.exact = exact
        self.later: list[tuple[str, Any]] = []
        self.leaves: list[Leaf] = []
        self.invalid: list[Place] = []
        self.unsupported: list[Place] = []
        self.one_of: list[tuple[Leaf, list[Node]]] = []
        self._known: dict[tuple[int, int], Leaf] = {}
        self._queue: list[Leaf] = []
        self._pattern_sets: dict[str, StringSet] = {}

    # -- reading ------------------------------------------------------------------------------

    def read(self, schema: Any) -> Node:
        """The node of the document's root; afterwards every schema it reaches has been read."""
        scope = self.loader.root
        root = self.node(schema, None, scope)
        if self.loader.unknown_dialect is not None:
            self.loader.unknown_dialect, uri = None, self.loader.unknown_dialect
            self.unsupported.append(Place(f"the dialect {uri!r} is not known", "/$schema"))
        queue, leaves = self._queue, self.leaves
        while queue:
            batch, self._queue = queue, []
            for leaf in batch:
                self._read(leaf)
            leaves.extend(batch)
            queue = self._queue
        return root

    def node(self, schema: Any, path: Path, scope: Scope) -> Node:
        """The node of the schema at *path*."""
        if isinstance(schema, dict):
            if not scope.simple:
                scope = self.loader.enter(scope, schema, path)
            key = (id(schema), id(scope))
            leaf = self._known.get(key)
            if leaf is None:
                leaf = self._known[key] = Leaf(schema, path, scope)
                self._queue.append(leaf)
            return leaf
        if schema is True:
            return sets.ANYTHING
        if schema is False:
            return self.algebra.never_at(path)
        self._note(self.invalid, path, f"a schema is an object, true or false{_hint(schema)}")
        return sets.ANYTHING

    def never_at(self, path: Path) -> Node:
        """The schema that nothing satisfies."""
        return self.algebra.never_at(path)

    def target(self, leaf: Leaf, key: str, reference: str) -> Node | None:
        """The node of a reference; None if there is none (which has been noted)."""
        try:
            target = self.loader.resolve(leaf.scope, reference)
        except UnresolvedError as error:
            if error.missing:
                self.cannot(leaf, key, note=str(error))
            else:
                self.refuse(leaf, key, str(error))
            return None
        if not isinstance(target.contents, (dict, bool)):
            self.refuse(leaf, key, f"the reference {reference!r} leads to what is no schema")
            return None
        return self.node(target.contents, target.path, target.scope)

    def holding(self, leaf: Leaf, names: list[str]) -> Node:
        """The values that have all of *names*, if they are objects."""
        present: tuple[Node, Node | None] = (sets.ANYTHING, leaf)
        members = dict.fromkeys(names, present)
        return Node(leaf.path, _of_objects(ObjectSet(members, sets.OPEN)))

    def depends(self, leaf: Leaf, key: str, name: str, wanted: Node) -> None:
        """Objects with a member *name* are in *wanted*."""
        if wanted.always or not _type_bits(leaf.schema) & OBJECT_TYPE:
            return
        if not self.exact:
            self.cannot(leaf, key, OBJECT_TYPE)
            return
        absent = _of_objects(ObjectSet({name: (self.algebra.never, None)}, sets.OPEN))
        present = self.algebra.both(self.holding(leaf, [name]), wanted)
        self.later.append(("any", [Node(leaf.path, absent), present]))

    def is_static(self, leaf: Leaf, key: str, reference: Any) -> bool:
        """Whether a dynamic reference has one target, whatever the way to it."""
        if key == "$recursiveRef":
            return self.loader.count("$recursiveAnchor", True) == 0
        if not isinstance(reference, str):
            return True
        fragment = reference.partition("#")[2]
        return fragment.startswith("/") or self.loader.count("$dynamicAnchor", fragment) <= 1

    def asserts_format(self, name: str) -> bool:
        """Whether the format *name* is enforced."""
        return self.options.formats == "assert" and name in FORMATS

    def check_pattern(self, leaf: Leaf, path: Path, pattern: str) -> bool:
        """Whether *pattern* is a regular expression that can be enforced; notes it if not."""
        try:
            tree = regex.parse(pattern)
        except GrammarSyntaxError as error:
            reasons = "; ".join(place.message for place in error.places)
            known = self.unsupported if "back-reference" in reasons else self.invalid
            self._note(known, path, f"not a regular expression: {reasons}")
            return False
        try:
            tree.search(self.algebra.expressions, "json")
        except GrammarSyntaxError as error:
            reasons = "; ".join(place.message for place in error.places)
            self._note(self.unsupported, path, f"the pattern is not supported: {reasons}")
            return False
        return True

    # -- remarks ------------------------------------------------------------------------------

    def refuse(self, leaf: Leaf, key: str, message: str) -> None:
        """Notes that the keyword *key* of *leaf* has no valid value."""
        self._note(self.invalid, (leaf.path, key), message)

    def cannot(self, leaf: Leaf, key: str, types: int = ALL_TYPES, note: str = "") -> None:
        """Notes that *key*, which concerns *types* only, cannot be enforced."""
        if _type_bits(leaf.schema) & types:
            message = note or f"the keyword {key} is not supported"
            self._note(self.unsupported, (leaf.path, key), message)

    def _note(self, places: list[Place], path: Path, message: str) -> None:
        pointer, where = place_of(path)
        places.append(Place(message + where, pointer))

    # -- one schema ---------------------------------------------------------------------------

    def _read(self, leaf: Leaf) -> None:
        schema, dialect = leaf.schema, leaf.scope.dialect
        handlers = handlers_of(dialect.year)
        found: Found = {}
        own_at = -1
        if dialect.ref_hides and "$ref" in schema:
            handlers["$ref"](self, leaf, found, "$ref", schema["$ref"])
        else:
            for key, value in schema.items():
                handler = handlers.get(key)
                if handler is not None:
                    if own_at < 0 and key in _DECLARING:
                        own_at = len(leaf.parts)
                    handler(self, leaf, found, key, value)
        if found:
            shape = self._own(leaf, found)
            if not leaf.parts:
                leaf.shape = shape
            at = own_at if own_at >= 0 else len(leaf.parts)
            leaf.parts.insert(at, ("own", shape))
        if self.later:
            leaf.parts += self.later
            leaf.shape, self.later = None, []
        if not leaf.parts:
            leaf.shape, leaf.alias = sets.FULL, sets.ANYTHING

    def _own(self, leaf: Leaf, found: Found) -> Shape:
        """What the keywords that concern one type say."""
        bits = found.get("type", ALL_TYPES)
        if len(found) == 1 and "type" in found:
            return _of_types(bits)
        flags = sets.NULL if bits & NULL_TYPE else 0
        flags |= sets.TRUE | sets.FALSE if bits & BOOLEAN_TYPE else 0
        shape = Shape(
            flags,
            self._numbers(leaf, found, bits) if bits & (NUMBER_TYPE | INTEGER_TYPE) else (),
            self._strings(leaf, found) if bits & STRING_TYPE else (),
            self._arrays(leaf, found) if bits & ARRAY_TYPE else (),
            self._objects(leaf, found) if bits & OBJECT_TYPE else (),
        )
        for key in ("enum", "const"):
            if key in found:
                shape = self._listed(leaf, found, key, shape)
        return shape

    def _listed(self, leaf: Leaf, found: Found, key: str, shape: Shape) -> Shape:
        """*shape* without the values that *key* does not list."""
        algebra, path = self.algebra, (leaf.path, key)
        values = found[key] if key == "enum" else [found[key]]
        strings = tuple(v for v in values if isinstance(v, str))
        parts = [algebra.constant_shape(v, path) for v in values if not isinstance(v, str)]
        if strings:
            parts.append(Shape(0, (), (StringSet(values=strings),), (), ()))
        kept = algebra.intersect(algebra.union(parts), shape)
        if kept.is_void():
            algebra.conflict(path, "none of the values satisfies the keywords beside it")
        return kept

    def _numbers(self, leaf: Leaf, found: Found, bits: int) -> tuple[NumberSet, ...]:
        whole = not bits & NUMBER_TYPE
        if not any(key in found for key in _NUMERIC):
            return (sets.INTEGERS,) if whole else (sets.NUMBERS,)
        low, high = found.get("minimum"), found.get("maximum")
        below, above = found.get("exclusiveMinimum"), found.get("exclusiveMaximum")
        step = found.get("multipleOf")
        numbers = NumberSet(
            whole,
            None if low is None else exact(low),
            None if high is None else exact(high),
            below is True and low is not None,
            above is True and high is not None,
            None if step is None else exact(step),
        )
        if below is not None and not isinstance(below, bool):
            numbers = numbers.intersect(NumberSet(lower=exact(below), lower_open=True))
        if above is not None and not isinstance(above, bool):
            numbers = numbers.intersect(NumberSet(upper=exact(above), upper_open=True))
        if numbers.is_empty():
            for key in _NUMERIC:
                if key in found:
                    self.algebra.conflict((leaf.path, key), "no number satisfies all bounds")
            return ()
        return (numbers,)

    def _strings(self, leaf: Leaf, found: Found) -> tuple[StringSet, ...]:
        if not any(key in found for key in _TEXTUAL):
            return (sets.STRINGS,)
        low, high = found.get("minLength", 0), found.get("maxLength")
        if high is not None and low > high:
            self.algebra.conflict((leaf.path, "minLength"), f"at least {low} characters")
            self.algebra.conflict((leaf.path, "maxLength"), f"at most {high} characters")
            return ()
        patterns = (found["pattern"],) if "pattern" in found else ()
        formats = (found["format"],) if "format" in found else ()
        strings = StringSet(None, low, high, patterns, formats)
        return (sets.STRINGS,) if strings == sets.STRINGS else (strings,)

    def _arrays(self, leaf: Leaf, found: Found) -> tuple[ArraySet, ...]:
        if not any(key in found for key in _LISTED):
            return (sets.ARRAYS,)
        prefix, rest = found.get("prefix", ()), found.get("rest", sets.ANYTHING)
        low, high = found.get("minItems", 0), found.get("maxItems")
        array = ArraySet(prefix, rest, low, high)
        if array.is_void():
            self.algebra.conflict((leaf.path, "minItems"), f"at least {low} items")
            which = "maxItems" if high is not None and high < low else "items"
            self.algebra.conflict((leaf.path, which), f"at most {array.high} items")
            return ()
        return (array,)

    # -- objects ------------------------------------------------------------------------------

    def _objects(self, leaf: Leaf, found: Found) -> tuple[ObjectSet, ...]:
        if not any(key in found for key in _KEYED):
            return (sets.OBJECTS,)
        patterns = found.get("patternProperties") or {}
        regions = self._regions(patterns, found.get("additionalProperties", sets.ANYTHING))
        members: dict[str, tuple[Node, Node | None]] = {}
        required = dict.fromkeys(found.get("required", ()))
        for name, node in found.get("properties", {}).items():
            if patterns:
                node = self.algebra.conjunction([node, *self._matching(patterns, name)])
            members[name] = (node, leaf if name in required else None)
        for name in required:
            if name not in members:
                node = find(regions, name, self.algebra)
                members[name] = (node, leaf)
            if members[name][0].never:
                node = members[name][0]
                if node.path is None:
                    node = found.get("additionalProperties", node)
                self.algebra.report_forbidden(name, leaf, node)
                return ()
        return self._counted(leaf, found, ObjectSet(members, regions))

    def _regions(self, patterns: dict[str, Node], rest: Node) -> tuple[Region, ...]:
        if not patterns:
            if rest.always:
                return sets.OPEN
            return () if rest.never else (Region((), (), rest),)
        regions: tuple[Region, ...] = (Region((), (), rest),)
        for pattern, node in patterns.items():
            names = self._pattern_set(pattern)
            regions = split(regions, names, node, self.algebra, True)
        return tuple(region for region in regions if not region.node.never)

    def _pattern_set(self, pattern: str) -> StringSet:
        names = self._pattern_sets.get(pattern)
        if names is None:
            names = self._pattern_sets[pattern] = StringSet(patterns=(pattern,))
        return names

    def _matching(self, patterns: dict[str, Node], name: str) -> list[Node]:
        expressions = self.algebra.expressions
        return [
            node
            for pattern, node in patterns.items()
            if self._pattern_set(pattern).contains(name, expressions)
        ]

    def _counted(self, leaf: Leaf, found: Found, objects: ObjectSet) -> tuple[ObjectSet, ...]:
        """Member counts, where the names are few enough to choose among them."""
        low, high = found.get("minProperties", 0), found.get("maxProperties")
        least = len(objects.needed())
        if high is not None and max(low, least) > high:
            self.algebra.conflict((leaf.path, "maxProperties"), f"at most {high} members")
            which = "minProperties" if low > high else "required"
            self.algebra.conflict((leaf.path, which), f"at least {max(low, least)} members")
            return ()
        found_sets = [objects]
        if high is not None and (objects.regions or _possible(objects) > high):
            found_sets = self._at_most(leaf, objects, high - least)
        if low <= least:
            return tuple(found_sets)
        return tuple(one for each in found_sets for one in self._at_least(leaf, each, low - least))

    def _at_most(self, leaf: Leaf, objects: ObjectSet, spare: int) -> list[ObjectSet]:
        """*objects* with at most *spare* members that are not required."""
        optional = _optional(objects)
        if spare and (objects.regions or comb(len(optional), spare) > MAX_CHOICES):
            self.cannot(leaf, "maxProperties", OBJECT_TYPE)
            return [objects]
        kept = combinations(optional, min(spare, len(optional)))
        return [
            ObjectSet({n: m for n, m in objects.members.items() if m[1] or n in names}, ())
            for names in map(frozenset, kept)
        ]

    def _at_least(self, leaf: Leaf, objects: ObjectSet, more: int) -> list[ObjectSet]:
        """*objects* with at least *more* members that are not required."""
        optional = _optional(objects)
        if objects.regions or comb(len(optional), more) > MAX_CHOICES:
            self.cannot(leaf, "minProperties", OBJECT_TYPE)
            return [objects]
        if more > len(optional):
            self.algebra.conflict((leaf.path, "minProperties"), f"{more} more members")
        return [
            ObjectSet(
                {n: (m[0], leaf if n in names else m[1]) for n, m in objects.members.items()}, ()
            )
            for names in map(frozenset, combinations(optional, more))
        ]


def _optional(objects: ObjectSet) -> list[str]:
    """Names that may be absent or present."""
    members = objects.members.items()
    return [name for name, (node, required) in members if required is None and not node.never]


def _hint(value: Any) -> str:
    """What to do with something that is no schema, where that is clear."""
    if isinstance(value, str | bytes):
        return "; text is read by json.loads first"
    if hasattr(value, "model_json_schema"):
        return "; a pydantic model gives one by model_json_schema()"
    return ""


def _possible(objects: ObjectSet) -> int:
    return sum(not node.never for node, _ in objects.members.values())


def _of_objects(objects: ObjectSet) -> Shape:
    """Every value but objects that are not in *objects*."""
    return Shape(sets.ALL_FLAGS, (sets.NUMBERS,), (sets.STRINGS,), (sets.ARRAYS,), (objects,))


def _type_bits(schema: dict[str, Any]) -> int:
    """The types that ``type`` leaves; all where it is absent or wrong."""
    names = schema.get("type")
    if isinstance(names, str):
        return TYPES.get(names, ALL_TYPES)
    if isinstance(names, list) and all(isinstance(name, str) for name in names):
        bits = 0
        for name in names:
            bits |= TYPES.get(name, ALL_TYPES)
        return bits
    return ALL_TYPES


_TYPE_SHAPES: dict[int, Shape] = {ALL_TYPES: sets.FULL}


def _of_types(bits: int) -> Shape:
    """All values of some types; shared."""
    shape = _TYPE_SHAPES.get(bits)
    if shape is None:
        flags = sets.NULL if bits & NULL_TYPE else 0
        flags |= sets.TRUE | sets.FALSE if bits & BOOLEAN_TYPE else 0
        numbers = sets.NUMBERS if bits & NUMBER_TYPE else sets.INTEGERS
        shape = _TYPE_SHAPES[bits] = Shape(
            flags,
            (numbers,) if bits & (NUMBER_TYPE | INTEGER_TYPE) else (),
            (sets.STRINGS,) if bits & STRING_TYPE else (),
            (sets.ARRAYS,) if bits & ARRAY_TYPE else (),
            (sets.OBJECTS,) if bits & OBJECT_TYPE else (),
        )
    return shape
