"""Reading a schema: from a document to leaves of the algebra.

Schemas are read once, from a work list, so depth costs no stack; each becomes a
:class:`~.algebra.Leaf` whose *own* keywords are a shape and whose applicators are parts beside it.
Everything wrong or not enforceable is collected with its place; nothing is raised here.

Plain nodes are cheap: a bare ``type`` shares one shape, and a schema without applicators is
its own normal form.

Cost: a few microseconds for each schema; several thousand schemas for a large document.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from typing import Any

from ..errors import GrammarSyntaxError, Place
from ..syntax import regex
from . import algebra as sets
from . import arrays, objects, unevaluated
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
from .load import Loader, Path, Scope, UnresolvedError, place_of, pointer_of
from .numbers import NumberSet, from_bounds
from .objects import ObjectSet
from .options import SchemaOptions
from .strings import StringSet, from_conditions

__all__ = ["Reader"]

_BESIDE = "left to a validator, since a pattern beside it cannot be enforced"
_INSIDE = "left to a validator, since something in contains cannot be enforced"

_DECLARING = frozenset("properties required patternProperties enum const".split())
_NUMERIC = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_BOUNDED = frozenset(_NUMERIC)
_LISTING = frozenset(("type", "enum"))
_TEXTUAL = frozenset("minLength maxLength pattern format".split())
_LISTED = frozenset(arrays.KEYS)
_KEYED = frozenset(
    "properties required additionalProperties patternProperties minProperties maxProperties".split()
)


class Reader:
    """The schemas of one conversion.

    Args:
        loader, options, algebra: Where references lead, how to read, what makes nodes.
        left_out: JSON pointers of keywords to leave out where they only bound something from
            above that is too large; None for a first attempt, which keeps no edges either.

    Attributes:
        leaves: Every schema that the root reaches, in the order in which they were met.
        invalid: What is no JSON Schema.
        unsupported: What cannot be enforced; with ``on_unsupported="relax"`` it was left out.
        one_of: Schemas with ``oneOf`` and its branches, read as a union; whoever uses the result
            checks that they exclude each other.
        derived: Sets that are worked out from other schemas.
        annotations: Keywords that are no more than that in their dialect (``$vocabulary``).
        inexact: Schemas of which something was left out.
        edges: Pairs of a schema and one that it applies or refers to; None where nobody asks.
        later: Parts of the schema being read that come after all others, since they only choose
            between members that are declared elsewhere.
        last: Parts that come after those, since they are about what all others say.
    """

    def __init__(
        self,
        loader: Loader,
        options: SchemaOptions,
        algebra: Algebra,
        left_out: Container[str] | None = None,
    ) -> None:
        self.loader, self.options, self.algebra = loader, options, algebra
        self.later: list[tuple[str, Any]] = []
        self.last: list[tuple[str, Any]] = []
        self.derived: list[Node] = []
        self.annotations: list[Path] = []
        self.inexact: set[Leaf] = set()
        self.edges: list[tuple[Leaf, Leaf]] | None = None if left_out is None else []
        self._left_out = left_out
        self._relaxes = options.on_unsupported == "relax"
        self.leaves: list[Leaf] = []
        self.invalid: list[Place] = []
        self.unsupported: list[Place] = []
        self.one_of: list[tuple[Leaf, list[Node]]] = []
        self._known: dict[tuple[int, int], Leaf] = {}
        self._queue: list[Leaf] = []
        self._reading: Leaf | None = None
        self._pattern_sets: dict[str, StringSet] = {}
        self._pattern_problems: dict[str, tuple[bool, str] | None] = {}

    # -- reading ------------------------------------------------------------------------------

    def read(self, schema: Any) -> Node:
        """The node of the document's root; afterwards every schema it reaches has been read."""
        root = self.node(schema, None, self.loader.root)
        if isinstance(schema, dict) and not isinstance(schema.get("$schema", ""), str):
            self._note(self.invalid, (None, "$schema"), "$schema is a URI")
        queue, leaves = self._queue, self.leaves
        while queue:
            batch, self._queue = queue, []
            for leaf in batch:
                self._read(leaf)
            leaves.extend(batch)
            queue = self._queue
        for message, path in self.loader.problems:
            self._note(self.unsupported, (path, "$schema"), message)
        return root

    def node(self, schema: Any, path: Path, scope: Scope) -> Node:
        """The node of the schema at *path*."""
        if isinstance(schema, dict):
            if not scope.simple:
                scope = self.loader.enter(scope, schema, path)
            key = (id(schema), id(scope))
            leaf = self._known.get(key)
            if leaf is None:
                hidden = scope.dialect.annotations
                if hidden:
                    self.annotations += [(path, name) for name in schema if name in hidden]
                    schema = {name: v for name, v in schema.items() if name not in hidden}
                leaf = self._known[key] = Leaf(schema, path, scope)
                self._queue.append(leaf)
            if self.edges is not None and self._reading is not None:
                self.edges.append((self._reading, leaf))
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
        """The node that the keyword *key* refers to; None if there is none (which has been noted).

        ``$dynamicRef`` and ``$recursiveRef`` look at how *leaf* was reached.
        """
        try:
            target = self.loader.resolve(leaf.scope, reference, key)
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
        absent = _of_objects(ObjectSet({name: (self.algebra.never, None)}, sets.OPEN))
        self.later.append(("either", [Node(leaf.path, absent), wanted]))

    def unevaluated(self, leaf: Leaf, key: str, value: Any) -> None:
        """Members (items) of *leaf* that nothing else evaluates are in the schema *value*."""
        rest = self.node(value, (leaf.path, key), leaf.scope)
        concerned = OBJECT_TYPE if key == "unevaluatedProperties" else ARRAY_TYPE
        if rest.always or value == {} or not _type_bits(leaf.schema) & concerned:
            return
        read = unevaluated.properties if concerned == OBJECT_TYPE else unevaluated.items
        node = read(self, leaf, rest)
        self.derived.append(node)
        self.last.append(("all", node))

    def asserts_format(self, leaf: Leaf, name: str) -> bool:
        """Whether the format *name* is enforced in *leaf*."""
        asserts = self.options.formats == "assert" or leaf.scope.dialect.asserts_formats
        return asserts and name in FORMATS

    def check_pattern(self, leaf: Leaf, path: Path, pattern: str) -> bool:
        """Whether *pattern* is a regular expression that can be enforced; notes it if not."""
        problem = self._pattern_problem(pattern)
        if problem is None:
            return True
        invalid, message = problem
        self._note(self.invalid if invalid else self.unsupported, path, message)
        self.inexact.add(leaf)
        return False

    def is_pattern(self, pattern: str) -> bool:
        """Whether *pattern* is a regular expression that can be enforced."""
        return self._pattern_problem(pattern) is None

    def pattern_set(self, pattern: str) -> StringSet:
        """The strings that match *pattern*, as one object for each pattern."""
        names = self._pattern_sets.get(pattern)
        if names is None:
            names = self._pattern_sets[pattern] = StringSet(patterns=(pattern,))
        return names

    def _pattern_problem(self, pattern: str) -> tuple[bool, str] | None:
        """What is wrong with *pattern*, and whether it is no regular expression at all."""
        if pattern not in self._pattern_problems:
            self._pattern_problems[pattern] = self._judge(pattern)
        return self._pattern_problems[pattern]

    def _judge(self, pattern: str) -> tuple[bool, str] | None:
        try:
            tree = regex.parse(pattern)
        except GrammarSyntaxError as error:
            reasons = "; ".join(place.message for place in error.places)
            invalid = "back-reference" not in reasons
            return invalid, f"not a regular expression: {reasons}"
        try:
            tree.search(self.algebra.expressions, "json")
        except GrammarSyntaxError as error:
            reasons = "; ".join(place.message for place in error.places)
            return False, f"the pattern is not supported: {reasons}"
        return None

    # -- remarks ------------------------------------------------------------------------------

    def refuse(self, leaf: Leaf, key: str, message: str) -> None:
        """Notes that the keyword *key* of *leaf* has no valid value."""
        self._note(self.invalid, (leaf.path, key), message)

    def cannot(self, leaf: Leaf, key: str, types: int = ALL_TYPES, note: str = "") -> None:
        """Notes that *key*, which concerns *types* only, cannot be enforced."""
        if _type_bits(leaf.schema) & types:
            message = note or f"the keyword {key} is not supported"
            self._note(self.unsupported, (leaf.path, key), message)
            self.inexact.add(leaf)

    def _note(self, places: list[Place], path: Path, message: str) -> None:
        pointer, where = place_of(path)
        places.append(Place(message + where, pointer))

    # -- one schema ---------------------------------------------------------------------------

    def _read(self, leaf: Leaf) -> None:
        self._reading = leaf
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
        if self._relaxes and found:
            self._leave_out(leaf, found)
        if found:
            shape = self._own(leaf, found)
            if not leaf.parts:
                leaf.shape = shape
            at = own_at if own_at >= 0 else len(leaf.parts)
            leaf.parts.insert(at, ("own", shape))
        if self.later or self.last:
            leaf.parts += self.later + self.last
            leaf.shape, self.later, self.last = None, [], []
        if not leaf.parts:
            leaf.shape = sets.FULL
            if leaf not in self.inexact:
                leaf.alias = sets.ANYTHING

    def _leave_out(self, leaf: Leaf, found: Found) -> None:
        """Drops keywords that would take away too much beside what could not be enforced."""
        keys = leaf.schema.get("patternProperties")
        patterns = keys if isinstance(keys, dict) else {}
        if "additionalProperties" in found and not all(map(self.is_pattern, patterns)):
            del found["additionalProperties"]
            self.cannot(leaf, "additionalProperties", note=_BESIDE)
        dropped = self._left_out or ()
        if "maxContains" in found and pointer_of((leaf.path, "maxContains")) in dropped:
            del found["maxContains"]
            self.cannot(leaf, "maxContains", note=_INSIDE)

    @property
    def counts(self) -> bool:
        """Whether it is bounded from above how many items are in some set."""
        return any("maxContains" in leaf.schema for leaf in self.leaves)

    def loose_counts(self, loose: Callable[[Node], bool]) -> Iterator[Place]:
        """Where it is bounded from above how many items are in a set that is *loose*."""
        for leaf in self.leaves:
            if "maxContains" in leaf.schema and "contains" in leaf.schema:
                path = (leaf.path, "contains")
                pointer, where = place_of((leaf.path, "maxContains"))
                dropped = self._left_out is not None and pointer in self._left_out
                if not dropped and loose(self.node(leaf.schema["contains"], path, leaf.scope)):
                    yield Place(_INSIDE + where, pointer)

    def _own(self, leaf: Leaf, found: Found) -> Shape:
        """What the keywords that concern one type say."""
        bits = found.get("type", ALL_TYPES)
        if len(found) == 1 and "type" in found:
            return _of_types(bits)
        if "enum" in found and _LISTING.issuperset(found) and bits & STRING_TYPE:
            names = found["enum"]
            if names and all(isinstance(name, str) for name in names):
                return Shape(0, (), (StringSet(values=tuple(names)),), (), ())
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
        if _BOUNDED.isdisjoint(found):
            return (sets.INTEGERS,) if whole else (sets.NUMBERS,)
        numbers = from_bounds(found, whole)
        if numbers.is_empty():
            for key in _NUMERIC:
                if key in found:
                    self.algebra.conflict((leaf.path, key), "no number satisfies all bounds")
            return ()
        return (numbers,)

    def _strings(self, leaf: Leaf, found: Found) -> tuple[StringSet, ...]:
        if _TEXTUAL.isdisjoint(found):
            return (sets.STRINGS,)
        strings = from_conditions(found)
        low, high = strings.min_length, strings.max_length
        if high is not None and low > high:
            self.algebra.conflict((leaf.path, "minLength"), f"at least {low} characters")
            self.algebra.conflict((leaf.path, "maxLength"), f"at most {high} characters")
            return ()
        return (sets.STRINGS,) if strings == sets.STRINGS else (strings,)

    def _arrays(self, leaf: Leaf, found: Found) -> tuple[ArraySet, ...]:
        if _LISTED.isdisjoint(found):
            return (sets.ARRAYS,)
        return arrays.from_keywords(leaf, found, self.algebra)

    def _objects(self, leaf: Leaf, found: Found) -> tuple[ObjectSet, ...]:
        if _KEYED.isdisjoint(found):
            return (sets.OBJECTS,)
        return objects.from_keywords(self, leaf, found)


def _hint(value: Any) -> str:
    """What to do with something that is no schema, where that is clear."""
    if isinstance(value, str | bytes):
        return "; text is read by json.loads first"
    if hasattr(value, "model_json_schema"):
        return "; Grammar.from_type takes a pydantic model"
    return ""


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
